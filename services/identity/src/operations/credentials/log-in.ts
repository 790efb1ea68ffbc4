import { usernameHere, type loginBody } from '@gatehouse/contracts'
import { transaction } from '@gatehouse/database'
import { User } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import { findNamed } from '../../queries/load-user.ts'
import { judgeLoginCode, type FactorDeps } from '../accounts/judge-code.ts'
import { recordSignIn, type Sender } from '../accounts/sign-ins.ts'
import { findWaiting } from '../accounts/waiting.ts'
import { refreshPasswordFromHome, type RefreshDeps } from './refresh-password.ts'

/** `issuedAt` (ms) is the time of issue of the token. `refreshed`: the home instance verified the password. */
export type LoggedIn = Awaited<ReturnType<typeof logIn>>

/** No password fits it. Unknown names, stubs and accounts without a password take the time of a wrong one. Contract: 1, unknown names. */
const dummyHash = '$2b$12$SABb/N/Pj9aB1rMxt9wUnuHNFUnndzJcZ3m76ea.dRaDrYa4XkXZG'

/**
 * The home of a stub is asked like that of an account. The lock waits for a change that is not committed yet: no token
 * outlives a change. Throws `Unavailable`. Spec: Login 1-6; Contract: 3, login, Second factor.
 */
export async function logIn(deps: RefreshDeps & FactorDeps, attempt: z.infer<typeof loginBody> & Sender) {
  const [account] = await findNamed(deps.orm.em.fork(), attempt.username, deps.config.publicAddress.domain)
  if (account?.isDeleted) throw refuse.account_deleted()
  const waitingRegistration = account ? null : await findHeld(deps, attempt.username)
  const hash = waitingRegistration?.passwordHash ?? comparedHash(account)
  const fits = await deps.hasher.verify(attempt.password, hash, attempt.address)
  const isAccepted = fits && deps.config.passwords
  if (waitingRegistration && isAccepted) throw refuse.registration_pending()
  if (!account || (!isAccepted && account.isLocal())) throw refuse.invalid_credentials()
  const verifiedHash = fits ? account.passwordHash : await refreshPasswordFromHome(deps, account, attempt)
  const { id } = account
  const reload = async (em: EntityManager) => {
    const user = await em.findOne(User, { id }, { lockMode: LockMode.PESSIMISTIC_READ })
    if (user?.isDeleted) throw refuse.account_deleted()
    if (!user || user.passwordHash !== verifiedHash) throw refuse.invalid_credentials()
    refuseSuspended(user)
    const refusal = await judgeLoginCode(deps, em, { user, ...attempt })
    if (refusal) return { refusal }
    const method = !fits ? 'home' : user.secondFactor ? 'second_factor' : 'password'
    const now = await deps.databaseTime(em)
    return { user, issuedAt: await recordSignIn(em, { user, now, method, client: attempt.client }) }
  }
  const loggedIn = await transaction(deps.orm, reload, { accountId: id })
  if (!loggedIn.refusal) return { ...loggedIn, refreshed: !fits }
  deps.afterCommit.publishEvents()
  throw loggedIn.refusal
}

/** What takes as long to compare with for every account. Contract: 1, Unknown names. */
export const comparedHash = (account: User | undefined): string =>
  account?.hasPassword && !account.isStub() ? account.passwordHash : dummyHash

/** A registration that waits. Contract: 3, Approval. */
async function findHeld(deps: RefreshDeps, typed: string) {
  const username = usernameHere(typed, deps.config.publicAddress.domain)
  return await findWaiting(deps, deps.orm.em.fork(), { username })
}

/** Call it under the account's lock before a token is issued. Throws account_suspended, account_suspended_by_home. Contract: 5, suspend. */
export function refuseSuspended({ suspendedAt, suspendedReason, homeSuspendedAt }: User): void {
  if (suspendedAt != null) throw refuse.account_suspended({ fields: { reason: suspendedReason ?? null } })
  if (homeSuspendedAt != null) throw refuse.account_suspended_by_home()
}
