import { assertCallerCurrent } from '@gatehouse/authority'
import { timingSafeEqual } from 'node:crypto'
import { passwordReset, snowflake, type recoverBody } from '@gatehouse/contracts'
import { User } from '@gatehouse/domain'
import { isRefusal, refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { hashSecret } from '../../hashing/hash-secret.ts'
import { enqueueNotice } from '../../mail/outbox.ts'
import { judgeLoginCode, type FactorDeps } from '../accounts/judge-code.ts'
import { recordSignIn, type Sender } from '../accounts/sign-ins.ts'
import { removeOtherWaysIn } from '../accounts/ways-in.ts'
import { actorOf, changeUser, recordAccountEvent, writeAuditEntry } from '../change-account.ts'
import { revocationTime } from './revocation-time.ts'

type RecoverDeps = FactorDeps & Pick<Deps, 'hasher' | 'config'>
type Link = { userId: string; hash: string }

/**
 * Takes the password that a person chose by a link of an admin or of a mail. The link is judged before the hash is computed, and again
 * under the account's lock: it counts once. A second factor is asked for as at the login. Contract: 3, recover.
 */
export async function recover(deps: RecoverDeps, recovery: z.infer<typeof recoverBody> & Sender) {
  const { token, newPassword, code, address, client, requestId } = recovery
  const link = parseLink(token)
  const em = deps.orm.em.fork()
  const stored = await requireValid(em, await em.findOne(User, { id: link.userId }), {
    ...link,
    now: await deps.databaseTime(em),
  })
  if (stored.secondFactor && !code) throw refuse.second_factor_required()
  const passwordHash = await deps.hasher.hash(newPassword, address)
  const recovered = await changeUser(deps, link.userId, async (candidate, em) => {
    const user = await requireValid(em, candidate, { ...link, now: await deps.databaseTime(em) })
    const refusal = await judgeLoginCode(deps, em, { user, code, requestId })
    if (refusal) return { refusal }
    const issuedAt = await revocationTime(deps, em, { user })
    await removeOtherWaysIn(deps, em, user)
    user.recover(passwordHash, issuedAt)
    writeAuditEntry(em, { action: 'user.recovered', user, at: issuedAt })
    await enqueueNotice(em, { user, kind: 'password_recovered', at: issuedAt })
    const facts = { user, at: issuedAt, actor: actorOf(user), requestId }
    const state = await recordAccountEvent(em, deps, passwordReset, facts)
    await recordSignIn(em, { user, now: issuedAt, method: 'recovery', client })
    return { user, issuedAt, state }
  })
  if (recovered.refusal) {
    deps.afterCommit.publishEvents()
    throw recovered.refusal
  }
  await deps.afterCommit.invalidateCache(recovered.state)
  return recovered
}

function parseLink(token: unknown): Link {
  const [, userId = '', secret] = typeof token === 'string' ? (/^([1-9][0-9]*)\.([\w-]{43})$/.exec(token) ?? []) : []
  if (!secret || !snowflake.safeParse(userId).success) throw refuse.recovery_link_invalid()
  return { userId, hash: hashSecret(secret) }
}

async function requireValid(
  em: EntityManager,
  user: User | null,
  { hash, now }: Link & { now: number },
): Promise<User> {
  const isOffered = user?.recoveryHash != null && isEqual(user.recoveryHash, hash)
  if (!isOffered || !user.isLocal() || (user.recoveryExpiresAt ?? 0) <= now) throw refuse.recovery_link_invalid()
  await requireMaker(em, user)
  return user
}

/** The admin who made the link could make one now with the same token. */
async function requireMaker(em: EntityManager, { recoveryAdminId, recoveryTokenIssuedAt }: User): Promise<void> {
  if (recoveryAdminId == null) return
  const maker = { userId: recoveryAdminId, tokenIssuedAt: recoveryTokenIssuedAt ?? 0 }
  await assertCallerCurrent(em, maker, { admin: true }).catch((error: unknown) => {
    throw isRefusal(error) ? refuse.recovery_link_invalid({ cause: error }) : error
  })
}

const isEqual = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))
