import { normalizeUsername } from '@gatehouse/contracts'
import { User } from '@gatehouse/domain'
import { LockMode } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { healPassword } from './heal-password.ts'

type Input = { username: string; password: string; requestId?: string | undefined }
type Needs = Pick<Deps, 'orm' | 'clock' | 'log' | 'hasher' | 'outbound' | 'config'>

/** `issuedAt`, in milliseconds, is when the token is born. */
export type LoggedIn = { user: User; issuedAt: number; healed: boolean }

/** A hash that no password fits, so that unknown names and stubs cost what wrong passwords cost. Contract: 1. */
export const nobodysHash = '$2b$12$SABb/N/Pj9aB1rMxt9wUnuHNFUnndzJcZ3m76ea.dRaDrYa4XkXZG'

/**
 * The user whose password this is. Throws credentials_wrong, account_deleted, hashing_busy. A stub is refused without
 * asking its home: nobody has taken it over yet, that is what registration is for. Spec: Login 1-6.
 */
export async function logIn(deps: Needs, input: Input): Promise<LoggedIn> {
  const found = await deps.orm.em.fork().findOne(User, { username: normalizeUsername(input.username) })
  if (found?.isDeleted) throw refuse.account_deleted()
  const account = found && !found.isStub() ? found : null

  const fits = await deps.hasher.verify(input.password, account?.passwordHash ?? nobodysHash)
  if (!account || (!fits && account.isLocal())) throw refuse.credentials_wrong()
  const provenHash = fits ? account.passwordHash : await healPassword(deps, account, input)
  return { ...(await lookAgain(deps, account.id, provenHash)), healed: !fits }
}

/**
 * The account as it is after the verification, which takes its time. The lock waits for a change under way, and one
 * that comes later finds the birth of the token behind it: none outlives a change. Contract: 3, login.
 */
async function lookAgain({ orm, clock }: Pick<Deps, 'orm' | 'clock'>, id: string, provenHash: string) {
  return await orm.em.fork().transactional(async (em) => {
    const user = await em.findOne(User, { id }, { lockMode: LockMode.PESSIMISTIC_READ })
    if (user?.isDeleted) throw refuse.account_deleted()
    if (!user || user.passwordHash !== provenHash) throw refuse.credentials_wrong()
    return { user, issuedAt: clock.now() }
  })
}
