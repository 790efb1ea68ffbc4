import { passwordReset } from '@gatehouse/contracts'
import { Passkey, User, type ActingAdmin } from '@gatehouse/domain'
import { randomToken, refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps, OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { requireLive } from '../../queries/load-user.ts'
import { recordAccountEvent, changeOther, enterAct } from '../change-account.ts'
import { hashSecret } from '../credentials/recover.ts'

type PasswordReset = { userId: string; actor: ActingAdmin; address: string; requestId?: string | undefined }

/**
 * Gives a local account a temporary password, and revokes its tokens. Throws user_unknown, target_deleted,
 * target_federated, hashing_busy, and as `assertCallerCurrent` does. Spec: Admin reset 1-4.
 */
export async function resetPassword(
  deps: OperationContext & Pick<Deps, 'hasher' | 'afterCommit'>,
  { userId, actor, address, requestId }: PasswordReset,
): Promise<string> {
  requireResettable(await deps.orm.em.fork().findOne(User, { id: userId }))
  const temporaryPassword = randomToken(deps.random, policy.temporaryPasswordBytes)
  const passwordHash = await deps.hasher.hash(temporaryPassword, address)
  const reset = async (user: User, em: EntityManager) => {
    requireResettable(user)
    const at = user.resetPassword(passwordHash, await deps.databaseTime(em))
    // An attacker with the old password may have added one.
    await em.nativeDelete(Passkey, { userId })
    enterAct(em, { action: 'user.password-reset', user, actor, at })
    return await recordAccountEvent(em, deps, passwordReset, { user, at, actor, requestId })
  }
  await deps.afterCommit.invalidateCache(await changeOther(deps, { userId, actor }, reset))
  return temporaryPassword
}

/** Throws user_unknown, target_deleted, target_federated. */
export function requireResettable(user: User | null): User {
  const live = requireLive(user)
  if (!live.isLocal()) throw refuse.target_federated()
  return live
}

/**
 * The secret stands behind the `#`: no server reads it in an address. Throws user_unknown, target_deleted, target_federated,
 * target_suspended, and as `assertCallerCurrent` does. Contract: 3, recover.
 */
export async function createRecoveryLink(
  deps: OperationContext & Pick<Deps, 'config'>,
  { userId, actor }: { userId: string; actor: ActingAdmin },
): Promise<{ url: string; expiresAt: number }> {
  const secret = randomToken(deps.random, policy.recoverySecretBytes)
  const expiresAt = await changeOther(deps, { userId, actor }, async (user, em) => {
    requireResettable(user)
    if (user.suspendedAt != null) throw refuse.target_suspended()
    const now = await deps.databaseTime(em)
    const expiresAt = now + policy.recoveryLinkMs
    user.offerRecovery(hashSecret(secret), expiresAt)
    enterAct(em, { action: 'user.recovery-link-created', user, actor, detail: { expiresAt }, at: now })
    return expiresAt
  })
  return { url: `${deps.config.publicAddress.origin}/recover#${userId}.${secret}`, expiresAt }
}
