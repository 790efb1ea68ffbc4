import { readAccountStates } from '@gatehouse/database'
import type { LocalUser } from '../connections.ts'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import { closeThoseBornUpTo } from './end-sessions.ts'

/**
 * Asks the truth about everybody connected here, and closes what an event should have closed that never came.
 * Contract: 6, no socket stays open.
 */
export async function sweepSessions(deps: Deps): Promise<void> {
  const users = [...deps.connections.users()].filter((user) => user.sockets.size > 0)
  for (let first = 0; first < users.length; first += policy.sweepBatch) {
    await sweepSome(deps, users.slice(first, first + policy.sweepBatch))
  }
}

async function sweepSome(deps: Deps, users: readonly LocalUser[]): Promise<void> {
  const states = await readAccountStates(
    deps.orm.em.fork(),
    users.map((user) => user.id),
  )
  const stateOf = new Map(states.map((state) => [state.userId, state]))
  for (const user of users) {
    const state = stateOf.get(user.id)
    if (!state || state.isDeleted) {
      closeThoseBornUpTo(deps, user, { reason: 'account_deleted', lastBirth: Infinity })
    } else if (state.sessionsEndedAt !== null) {
      const lastBirth = Math.floor(state.sessionsEndedAt / 1000) - 1
      if (hasOlder(user, lastBirth)) closeThoseBornUpTo(deps, user, { reason: 'password_reset', lastBirth })
    }
  }
}

function hasOlder(user: LocalUser, lastBirth: number): boolean {
  for (const socket of user.sockets) if (socket.iat <= lastBirth) return true
  return false
}
