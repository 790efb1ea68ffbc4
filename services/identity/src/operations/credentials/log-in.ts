import { normalizeUsername } from '@gatehouse/contracts'
import { transaction } from '@gatehouse/database'
import { User } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { OperationContext } from '../../deps.ts'
import { refreshPasswordFromHome, type LoginAttempt, type RefreshDeps } from './refresh-password.ts'

/** `issuedAt` (ms) is the time of issue of the token. `refreshed`: the home instance verified the password. */
export type LoggedIn = { user: User; issuedAt: number; refreshed: boolean }

/** No password fits it. Unknown names and stubs take the time of a wrong password. Contract: 1. */
export const dummyHash = '$2b$12$SABb/N/Pj9aB1rMxt9wUnuHNFUnndzJcZ3m76ea.dRaDrYa4XkXZG'

/** A stub's home is not asked. Throws invalid_credentials, account_deleted, hashing_busy, `Unavailable`. Spec: Login 1-6. */
export async function logIn(deps: RefreshDeps, attempt: LoginAttempt): Promise<LoggedIn> {
  const found = await deps.orm.em.fork().findOne(User, { username: normalizeUsername(attempt.username) })
  if (found?.isDeleted) throw refuse.account_deleted()
  const account = found && !found.isStub() ? found : null
  const fits = await deps.hasher.verify(attempt.password, account?.passwordHash ?? dummyHash, attempt.address)
  if (!account || (!fits && account.isLocal())) throw refuse.invalid_credentials()
  const verifiedHash = fits ? account.passwordHash : await refreshPasswordFromHome(deps, account, attempt)
  return { ...(await reloadLocked(deps, account.id, verifiedHash)), refreshed: !fits }
}

/** The lock waits for a change that is not committed yet. No token outlives a change. Contract: 3, login. */
async function reloadLocked({ orm, databaseTime }: OperationContext, id: string, verifiedHash: string) {
  const reload = async (em: EntityManager) => {
    const user = await em.findOne(User, { id }, { lockMode: LockMode.PESSIMISTIC_READ })
    if (user?.isDeleted) throw refuse.account_deleted()
    if (!user || user.passwordHash !== verifiedHash) throw refuse.invalid_credentials()
    return { user, issuedAt: Math.max(await databaseTime(em), user.passwordChangedAt ?? 0) }
  }
  return await transaction(orm, reload, { accountId: id })
}
