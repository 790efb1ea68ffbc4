import { bigintArray, read, readAccountStates } from '@gatehouse/database'
import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'
import { endSessions, sessionEndings, type EndingDeps } from './end-sessions.ts'
import type { LocalUser, SessionRegistry } from './session-registry.ts'

type SweepDeps = EndingDeps &
  Pick<OperationContext, 'orm'> & { sessions: Pick<SessionRegistry, 'users' | 'updateAccountState'> }

/** Does what a lost event should have done. Contract: 6, no socket stays open. */
export async function sweepSessions(deps: SweepDeps): Promise<void> {
  const users = [...deps.sessions.users()].filter((user) => user.sockets.size > 0)
  for (let first = 0; first < users.length; first += policy.sweepBatch) {
    await sweepBatch(deps, users.slice(first, first + policy.sweepBatch))
  }
}

async function sweepBatch(deps: SweepDeps, users: readonly LocalUser[]): Promise<void> {
  const em = deps.orm.em.fork()
  const states = new Map((await readAccountStates(em, idsOf(users))).map((state) => [state.userId, state]))
  const ended: { user: LocalUser; second: number }[] = []
  for (const user of users) {
    const state = states.get(user.id)
    if (state) deps.sessions.updateAccountState(state)
    const isDeleted = !state || state.isDeleted
    const second = Math.floor((state?.sessionsEndedAt ?? 0) / 1000)
    if (isDeleted) endSessions(deps, user, { ...sessionEndings.UserDeleted, second: Infinity, version: unknownVersion })
    else if ([...user.sockets].some(({ session }) => session.iat < second)) ended.push({ user, second })
  }
  if (ended.length === 0) return
  const sql = 'select id::text as id from users where id = any(?::bigint[]) and sessions_ended_by_reset'
  const rows = await read<{ id: string }>(em, sql, [bigintArray(idsOf(ended.map(({ user }) => user)))])
  const resets = new Set(rows.map(({ id }) => id))
  for (const { user, second } of ended) {
    const ending = resets.has(user.id) ? sessionEndings.PasswordReset : sessionEndings.SessionsEnded
    endSessions(deps, user, { ...ending, second, version: unknownVersion })
  }
}

/** The account's version may have risen since the end, so tokens of the same second stay. */
const unknownVersion = -1

const idsOf = (users: readonly LocalUser[]) => users.map(({ id }) => id)
