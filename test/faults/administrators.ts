import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import type { History } from './history.ts'
import type { InstanceClient } from './instance-client.ts'
import type { RevokedTokens } from './revokers.ts'
import { logIn, type TestUser } from './users.ts'

type Scene = { instance: InstanceClient; history: History; admin: TestUser; revoked: RevokedTokens; stop: AbortSignal }

const acts = [
  { path: 'suspend', audited: 'user.suspended' },
  { path: 'sessions/end', audited: 'user.sessions-ended' },
] as const
type Act = (typeof acts)[number]

const betweenActsMs = 500

/**
 * Suspends a user, and ends their sessions, in turn; each acknowledged act adds a token that must be rejected. `check`: each one is
 * in the audit log, and none twice.
 */
export async function administrate(
  scene: Scene,
  member: TestUser,
): Promise<{ check(databaseUrl: string): Promise<void> }> {
  const { instance, history, admin, revoked, stop } = scene
  const attempts: { act: Act; isAcknowledged: boolean }[] = []
  for (let round = 0; !stop.aborted; round += 1) {
    await pause(betweenActsMs)
    const { token } = await logIn(instance, member.username, member.password)
    const act = acts[round % acts.length]!
    const path = `/api/admin/users/${member.id}/${act.path}`
    const answer = await instance.call('POST', path, { token: admin.token, body: {} })
    const isAcknowledged = answer?.status === 200
    attempts.push({ act, isAcknowledged })
    if (isAcknowledged) {
      revoked.push(token)
      history.count(`acknowledged by admins: ${act.path}`)
    }
    if (act.path === 'suspend') await unsuspend(scene, member)
  }
  return {
    async check(databaseUrl) {
      for (const act of acts) {
        const ofKind = attempts.filter((each) => each.act === act)
        const least = ofKind.filter(({ isAcknowledged }) => isAcknowledged).length
        const entries = await countEntries(databaseUrl, act.audited, member)
        history.count('acts of admins found in the audit log', entries)
        if (entries >= least && entries <= ofKind.length) continue
        history.violation(`${act.path}: ${ofKind.length} asked for, ${least} acknowledged, ${entries} audited`)
      }
    },
  }
}

/** Repeated until it is acknowledged, because nobody suspended logs in. */
async function unsuspend({ instance, admin }: Scene, member: TestUser): Promise<void> {
  const path = `/api/admin/users/${member.id}/unsuspend`
  const isDone = async () => (await instance.call('POST', path, { token: admin.token }))?.status === 200
  while (!(await isDone())) await pause(100)
}

async function countEntries(databaseUrl: string, action: string, { id }: TestUser): Promise<number> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  const sql = 'select from audit_log where action = $1 and target_id = $2'
  const { rowCount } = await client.query(sql, [action, id])
  await client.end()
  return rowCount ?? 0
}
