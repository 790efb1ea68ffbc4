import { decrypt } from '@gatehouse/auth'
import { secondFactorChanged } from '@gatehouse/contracts'
import { read } from '@gatehouse/database'
import { SecondFactor, type ActingCaller, type User } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../../deps.ts'
import { loadCaller } from '../../queries/load-user.ts'
import { changeSelf, recordAccountEvent, actorOf } from '../change-account.ts'
import { verifyOwnPassword } from '../credentials/verify-password.ts'
import { readDemand } from './demand-of-admins.ts'
import { contextOf, encryptSecret, type FactorDeps, createRecoveryCodes } from './judge-code.ts'
import { findStep, otpauthUri, secretBytes, toBase32 } from './totp.ts'

/** Null and 0 while none is on. Contract: 3, Second factor. */
export async function readSecondFactor({ orm }: Pick<Deps, 'orm'>, userId: string) {
  const factor = await orm.em.fork().findOne(SecondFactor, { userId, confirmedAt: { $ne: null } })
  return { since: factor?.confirmedAt?.getTime() ?? null, recoveryCodesLeft: factor?.recoveryCodes.length ?? 0 }
}

type Begin = { caller: ActingCaller; address: string; password?: unknown; requestId?: string | undefined }

/**
 * The secret waits ten minutes for `confirmSecondFactor`, in place of one that waits. Throws second_factor_local_only,
 * second_factor_on, second_factor_upgrading, password_required, password_incorrect, account_deleted, token_revoked,
 * hashing_busy. Contract: 3, Second factor.
 */
export async function beginSecondFactor(
  deps: FactorDeps & Pick<Deps, 'hasher' | 'config'>,
  { caller, address, password }: Begin,
): Promise<{ secret: string; otpauthUri: string }> {
  const before = await loadCaller(deps, caller)
  requireWithout(before)
  await verifyOwnPassword(deps, before, { password, address })
  const secret = deps.random.bytes(secretBytes)
  await changeSelf(deps, caller, async (user, em) => {
    requireWithout(user)
    if (user.passwordHash !== before.passwordHash) throw refuse.password_incorrect()
    await requireNewReplicas(em)
    await em.nativeDelete(SecondFactor, { userId: user.id })
    const createdAt = new Date(await deps.databaseTime(em))
    await em.insert(SecondFactor, { userId: user.id, secret: encryptSecret(deps, user.id, secret), createdAt })
  })
  const { domain: issuer } = deps.config.publicAddress
  return { secret: toBase32(secret), otpauthUri: otpauthUri(secret, { issuer, username: before.username }) }
}

type Confirmation = { caller: ActingCaller; code: string; requestId?: string | undefined }

/**
 * Turns the factor on, and gives the recovery codes, which nothing tells again. The code is used up. Throws
 * second_factor_local_only, second_factor_on, second_factor_not_waiting, second_factor_incorrect,
 * second_factor_upgrading, account_deleted, token_revoked. Contract: 3, Second factor.
 */
export async function confirmSecondFactor(
  deps: FactorDeps & Pick<Deps, 'afterCommit'>,
  { caller, code, requestId }: Confirmation,
): Promise<string[]> {
  const { codes, state } = await changeSelf(deps, caller, async (user, em) => {
    requireWithout(user)
    await requireNewReplicas(em)
    const factor = await em.findOne(SecondFactor, { userId: user.id })
    const now = await deps.databaseTime(em)
    if (!factor?.waitsAt(now)) throw refuse.second_factor_not_waiting()
    const secret = Buffer.from(decrypt(deps.encryptionKey, factor.secret, contextOf(user.id)), 'base64url')
    const step = findStep(secret, code.replace(/[\s-]/g, ''), now)
    if (step === undefined) throw refuse.second_factor_incorrect()
    const { codes, hashes } = createRecoveryCodes(deps.random, secret)
    factor.confirm({ step, recoveryCodes: hashes, now })
    user.setSecondFactor(true, await readDemand(em))
    const facts = { user, at: now, actor: actorOf(user), change: 'on' as const, requestId }
    return { codes, state: await recordAccountEvent(em, deps, secondFactorChanged, facts) }
  })
  await deps.afterCommit.invalidateCache(state)
  return codes
}

/** Throws second_factor_local_only, second_factor_on. */
function requireWithout(user: User): void {
  if (!user.isLocal()) throw refuse.second_factor_local_only()
  if (user.secondFactor) throw refuse.second_factor_on()
}

/** How release 0.2.0, which asks for no second factor, names its connections: at least two polls a second. */
const olderIdentity = 'gatehouse-identity'

/** Throws second_factor_upgrading. docs/decisions/second-factor.md. */
async function requireNewReplicas(em: EntityManager): Promise<void> {
  const sql = `select from pg_stat_activity where datname = current_database() and application_name = ? limit 1`
  const older = await read(em, sql, [olderIdentity])
  if (older.length > 0) throw refuse.second_factor_upgrading({ headers: { 'Retry-After': '60' } })
}
