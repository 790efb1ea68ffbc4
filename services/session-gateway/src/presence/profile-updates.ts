import type { Subscription } from '@gatehouse/bus'
import { fieldsWith, profileChanged, type UserUpdatedMessage } from '@gatehouse/contracts'
import { bigintArray, columnsOf, read } from '@gatehouse/database'
import { User, plainUserProperties, sanitizeUser, type PlainUser } from '@gatehouse/domain'
import { delay } from '@gatehouse/runtime'
import { sendOrKeep } from '../connection/send-text.ts'
import { encodeFrame } from '../connection/session-socket.ts'
import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'
import type { SessionRegistry } from '../sessions/session-registry.ts'
import { observersOf, readAudience, type Audience } from './audience.ts'
import { createUpstreamAudience, type AudienceDeps } from './upstream-audience.ts'

type UpdateDeps = AudienceDeps &
  Pick<OperationContext, 'bus' | 'sessionMetrics'> & { sessions: SessionRegistry; node: { readonly id: string } }

const ownFields: readonly string[] = fieldsWith({ shownTo: 'self' })

/** Changes that come during a read are read together. A client that missed one sees it in its next `ready`. Contract: 6, user_updated. */
export async function subscribeProfileChanges(deps: UpdateDeps): Promise<Subscription> {
  const { bus, log, node, orm, sessions, timer, timings } = deps
  const columns = columnsOf(orm.em, User, plainUserProperties)
  /** With whether others see the change. */
  const changed = new Map<string, boolean>()
  let isRunning = false

  const note = (userId: string, isPublic: boolean) => changed.set(userId, isPublic || changed.get(userId) === true)

  const upstreams = createUpstreamAudience<{ userId: string; user: PlainUser }>(deps, (changes, audience) => {
    for (const { user } of changes) sendToOthers(user, audience)
  })

  async function run(): Promise<void> {
    isRunning = true
    while (changed.size > 0) {
      const batch = [...changed].slice(0, policy.changesPerRead)
      for (const [userId] of batch) changed.delete(userId)
      try {
        await tell(batch)
      } catch (err) {
        log.warn({ err }, 'profile changes wait')
        for (const [userId, isPublic] of batch) note(userId, isPublic)
        await delay(timer, timings.databaseRetryMs)
      }
    }
    isRunning = false
  }

  async function tell(batch: readonly (readonly [string, boolean])[]): Promise<void> {
    const publicIds = batch.flatMap(([userId, isPublic]) => (isPublic ? [userId] : []))
    const audience = await readAudience(deps, { userIds: publicIds }, { onNode: node.id })
    const query = `select ${columns.sql} from users where users.id = any(?::bigint[])`
    const rows = await read<object>(orm.em.fork(), query, [bigintArray(batch.map(([userId]) => userId))])
    const users = rows.map((row) => columns.read(row))
    const isPublic = new Set(publicIds)
    upstreams.tell(users.flatMap((user) => (isPublic.has(user.id) ? [{ userId: user.id, user }] : [])))
    for (const user of users) {
      send(user, [user.id], true)
      sendToOthers(user, audience)
    }
  }

  function sendToOthers(user: PlainUser, audience: Audience): void {
    const observers = observersOf(audience, user.id)
    observers.delete(user.id)
    send(user, observers, false)
  }

  function send(user: PlainUser, recipients: Iterable<string>, isSelf: boolean): void {
    let frame: Buffer | undefined
    for (const recipient of recipients) {
      for (const socket of sessions.find(recipient)?.sockets ?? []) {
        frame ??= encodeFrame({ type: 'user_updated', user: sanitizeUser(user, isSelf) } satisfies UserUpdatedMessage)
        sendOrKeep(deps, socket, frame)
      }
    }
  }

  return await bus.subscribe(profileChanged, async ({ payload }) => {
    if (sessions.isEmpty() || changed.size >= policy.profileUpdates) return
    const isPublic = payload.changed.some((field) => !ownFields.includes(field))
    note(payload.userId, isPublic)
    if (!isRunning) void run()
  })
}
