import { passwordReset } from '@gatehouse/contracts'
import { User } from '@gatehouse/domain'
import { randomToken, refuse } from '@gatehouse/runtime'
import type { Deps, OperationContext } from '../../deps.ts'
import { hashSecret } from '../../hashing/hash-secret.ts'
import { enqueueNotice } from '../../mail/outbox.ts'
import { policy } from '../../policy.ts'
import { requireLive } from '../../queries/load-user.ts'
import { removeOtherWaysIn } from '../accounts/ways-in.ts'
import { changeOther, recordAccountEvent, type AdminAct, writeAuditEntry } from '../change-account.ts'
import { revocationTime } from '../credentials/revocation-time.ts'

type ResetDeps = OperationContext & Pick<Deps, 'hasher' | 'config'>

/** Gives a local account a temporary password, and revokes its tokens. Spec: Admin reset 1-4. */
export async function resetPassword(deps: ResetDeps, { address, ...act }: AdminAct & { address: string }) {
  const { userId, actor, requestId } = act
  requireResettable(await deps.orm.em.fork().findOne(User, { id: userId }))
  const temporaryPassword = randomToken(deps.random, policy.temporaryPasswordBytes)
  const passwordHash = await deps.hasher.hash(temporaryPassword, address)
  const state = await changeOther(deps, act, async (user, em) => {
    requireResettable(user)
    const at = await revocationTime(deps, em, { user })
    await removeOtherWaysIn(deps, em, user)
    user.resetPassword(passwordHash, at)
    writeAuditEntry(em, { action: 'user.password-reset', user, actor, at })
    await enqueueNotice(em, { user, kind: 'password_reset', at })
    return await recordAccountEvent(em, deps, passwordReset, { user, at, actor, requestId })
  })
  await deps.afterCommit.invalidateCache(state)
  return { temporaryPassword }
}

function requireResettable(user: User | null): void {
  if (!requireLive(user).isLocal()) throw refuse.target_federated()
}

/** The secret stands behind the `#`: no server reads it in an address. Contract: 3, recover. */
export async function createRecoveryLink(deps: OperationContext & Pick<Deps, 'config'>, act: AdminAct) {
  const { userId, actor } = act
  const secret = randomToken(deps.random, policy.recoverySecretBytes)
  const expiresAt = await changeOther(deps, act, async (user, em) => {
    requireResettable(user)
    if (user.isSuspended()) throw refuse.target_suspended()
    const now = await deps.databaseTime(em)
    const expiresAt = now + policy.recoveryLinkMs
    const recoveryTokenIssuedAt = actor.userId === null ? null : actor.tokenIssuedAt
    const maker = { recoveryAdminId: actor.userId, recoveryTokenIssuedAt }
    user.offerRecovery({ recoveryHash: hashSecret(secret), recoveryExpiresAt: expiresAt, ...maker })
    writeAuditEntry(em, { action: 'user.recovery-link-created', user, actor, detail: { expiresAt }, at: now })
    return expiresAt
  })
  return { url: `${deps.config.publicAddress.origin}/recover#${userId}.${secret}`, expiresAt }
}
