import { normalizeUsername } from '@gatehouse/contracts'
import { transaction } from '@gatehouse/database'
import { User } from '@gatehouse/domain'
import { refuse, type Refusal } from '@gatehouse/runtime'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../../deps.ts'
import { judgeCode, type FactorDeps } from '../second-factor/judge-code.ts'
import { refreshPasswordFromHome, type LoginAttempt, type RefreshDeps } from './refresh-password.ts'
import { recordSignIn } from './sign-ins.ts'

/** `issuedAt` (ms) is the time of issue of the token. `refreshed`: the home instance verified the password. */
export type LoggedIn = { user: User; issuedAt: number; refreshed: boolean }

/** No password fits it. Unknown names and stubs take the time of a wrong password. Contract: 1. */
export const dummyHash = '$2b$12$SABb/N/Pj9aB1rMxt9wUnuHNFUnndzJcZ3m76ea.dRaDrYa4XkXZG'

type LoginDeps = RefreshDeps & FactorDeps

/**
 * The home of a stub is asked like that of an account. Throws invalid_credentials, account_deleted, account_suspended, federated_registration_closed, second_factor_required,
 * second_factor_wrong, second_factor_blocked, home_second_factor, hashing_busy, `Unavailable`. Spec: Login 1-6; Contract: 3, Second factor.
 */
export async function logIn(
  deps: LoginDeps,
  attempt: LoginAttempt & { code?: string | null | undefined },
): Promise<LoggedIn> {
  const account = await deps.orm.em.fork().findOne(User, { username: normalizeUsername(attempt.username) })
  if (account?.isDeleted) throw refuse.account_deleted()
  const hash = account && !account.isStub() ? account.passwordHash : dummyHash
  const fits = await deps.hasher.verify(attempt.password, hash, attempt.address)
  if (!account || (!fits && account.isLocal())) throw refuse.invalid_credentials()
  const verifiedHash = fits ? account.passwordHash : await refreshPasswordFromHome(deps, account, attempt)
  const { code, requestId, client } = attempt
  const verified = { id: account.id, verifiedHash, isAtHome: !fits, code: code || undefined, requestId, client }
  const reloaded = await reloadLocked(deps, verified)
  return { ...reloaded, refreshed: !fits }
}

/** Call it under the account's lock before a token is issued. Throws account_suspended. Contract: 5, suspend. */
export function refuseSuspended({ suspendedAt, suspendedReason }: User): void {
  if (suspendedAt != null) throw refuse.account_suspended({ fields: { reason: suspendedReason ?? null } })
}

type Verified = Pick<LoginAttempt, 'client'> & {
  id: string
  verifiedHash: string
  isAtHome: boolean
  code: string | undefined
  requestId: string | undefined
}

/** The lock waits for a change that is not committed yet. No token outlives a change. Contract: 3, login. */
async function reloadLocked(deps: LoginDeps, { id, verifiedHash, isAtHome, code, requestId, client }: Verified) {
  const reload = async (em: EntityManager) => {
    const user = await em.findOne(User, { id }, { lockMode: LockMode.PESSIMISTIC_READ })
    if (user?.isDeleted) throw refuse.account_deleted()
    if (!user || user.passwordHash !== verifiedHash) throw refuse.invalid_credentials()
    refuseSuspended(user)
    const refusal = user.secondFactor ? await judgeSecondFactor(deps, em, { user, code, requestId }) : undefined
    const issuedAt = Math.max(await deps.databaseTime(em), user.passwordChangedAt ?? 0)
    const method = isAtHome ? 'home' : user.secondFactor ? 'second_factor' : 'password'
    if (!refusal) await recordSignIn(em, { userId: id, at: issuedAt, method, client })
    return { user, refusal, issuedAt }
  }
  const { refusal, ...reloaded } = await transaction(deps.orm, reload, { accountId: id })
  if (!refusal) return reloaded
  deps.afterCommit.publishEvents()
  throw refusal
}

/**
 * Under the account's lock, where a factor is on. Throws second_factor_required. Throw the other refusals after the commit:
 * wrong codes count.
 */
export async function judgeSecondFactor(
  deps: FactorDeps & Pick<Deps, 'afterCommit'>,
  em: EntityManager,
  { user, code, requestId }: { user: User } & Pick<Verified, 'code' | 'requestId'>,
): Promise<Refusal | undefined> {
  if (code === undefined) throw refuse.second_factor_required()
  return (await judgeCode(deps, em, { user, code, wrong: 'second_factor_wrong', requestId })).refusal
}
