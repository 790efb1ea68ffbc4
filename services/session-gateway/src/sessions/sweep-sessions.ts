import type { AccountState } from '@gatehouse/contracts'
import { readAccountStates } from '@gatehouse/database'
import { updateAccountState } from '../admin-watch/admin-watch.ts'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import { closeSessionsIssuedBefore, sessionEndings } from './end-sessions.ts'
import type { LocalUser } from './session-registry.ts'

type SweepDeps = Pick<Deps, 'orm' | 'sessions' | 'presence' | 'timeouts' | 'sessionMetrics'>

/**
 * Reads the accounts of all connected users, and does what an event should have done that was lost. Contract: 6, no
 * socket stays open.
 */
export async function sweepSessions(deps: SweepDeps): Promise<void> {
  const users = [...deps.sessions.users()].filter((user) => user.sockets.size > 0)
  for (let first = 0; first < users.length; first += policy.sweepBatch) {
    await sweepBatch(deps, users.slice(first, first + policy.sweepBatch))
  }
}

async function sweepBatch(deps: SweepDeps, users: readonly LocalUser[]): Promise<void> {
  const userIds = users.map(({ id }) => id)
  const states = new Map((await readAccountStates(deps.orm.em.fork(), userIds)).map((state) => [state.userId, state]))
  for (const user of users) {
    const state = states.get(user.id)
    if (state) updateAccountState(deps, state)
    closeExpired(deps, user, state)
  }
}

function closeExpired(deps: SweepDeps, user: LocalUser, state: AccountState | undefined): void {
  if (!state || state.isDeleted) {
    return closeSessionsIssuedBefore(deps, user, { ...sessionEndings.UserDeleted, issuedBefore: Infinity })
  }
  if (state.sessionsEndedAt === null) return
  const issuedBefore = Math.floor(state.sessionsEndedAt / 1000)
  if (![...user.sockets].some(({ iat }) => iat < issuedBefore)) return
  // A reset changes the password at the moment at which it ends the sessions.
  const isReset = state.passwordChangedAt === state.sessionsEndedAt
  const ending = isReset ? sessionEndings.PasswordReset : sessionEndings.SessionsEnded
  closeSessionsIssuedBefore(deps, user, { ...ending, issuedBefore })
}
