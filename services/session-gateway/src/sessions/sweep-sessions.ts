import { bigintArray, readAccountStates, selectRows } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'
import { closeSessionsIssuedBefore, sessionEndings, type EndingDeps } from './end-sessions.ts'
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
  const userIds = users.map(({ id }) => id)
  const em = deps.orm.em.fork()
  const states = new Map((await readAccountStates(em, userIds)).map((state) => [state.userId, state]))
  const ended: { user: LocalUser; issuedBefore: number }[] = []
  for (const user of users) {
    const state = states.get(user.id)
    if (state) deps.sessions.updateAccountState(state)
    if (!state || state.isDeleted) {
      closeSessionsIssuedBefore(deps, user, { ...sessionEndings.UserDeleted, issuedBefore: Infinity })
      continue
    }
    const issuedBefore = Math.floor((state.sessionsEndedAt ?? 0) / 1000)
    if ([...user.sockets].some(({ session }) => session.iat < issuedBefore)) ended.push({ user, issuedBefore })
  }
  if (ended.length === 0) return
  const resets = await readResets(em, ended)
  for (const { user, issuedBefore } of ended) {
    const ending = resets.has(user.id) ? sessionEndings.PasswordReset : sessionEndings.SessionsEnded
    closeSessionsIssuedBefore(deps, user, { ...ending, issuedBefore })
  }
}

async function readResets(em: EntityManager, ended: readonly { user: LocalUser }[]): Promise<Set<string>> {
  const sql = 'select id::text as id from users where id = any(?::bigint[]) and sessions_ended_by_reset'
  const rows = await selectRows<{ id: string }>(em, sql, [bigintArray(ended.map(({ user }) => user.id))])
  return new Set(rows.map(({ id }) => id))
}
