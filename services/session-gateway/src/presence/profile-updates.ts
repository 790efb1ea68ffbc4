import type { Bus, Subscription } from '@gatehouse/bus'
import { fieldsWith, profileChanged, type UserUpdatedMessage } from '@gatehouse/contracts'
import { bigintArray, columnsOf, read, type EntityColumns } from '@gatehouse/database'
import { User, plainUserProperties, sanitizeUser, type PlainUser } from '@gatehouse/domain'
import { delay } from '@gatehouse/runtime'
import { sendOrKeep } from '../connection/send-text.ts'
import { encodeFrame } from '../connection/session-socket.ts'
import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'
import type { SessionRegistry } from '../sessions/session-registry.ts'
import { UpstreamAudience, type AudienceDeps } from './upstream-audience.ts'
import { observersOf, readAudience } from './audience.ts'

type UpdateDeps = AudienceDeps &
  Pick<OperationContext, 'sessionMetrics'> & {
    sessions: Pick<SessionRegistry, 'find' | 'isEmpty'>
    node: { readonly id: string }
  }

const ownFields: readonly string[] = fieldsWith({ shownTo: 'self' })

/** Changes that come during a read are read together. A client that missed one sees it in its next `ready`. Contract: 6, user_updated. */
class ProfileUpdates {
  readonly #deps: UpdateDeps
  /** With whether others see the change. */
  readonly #changed = new Map<string, boolean>()
  readonly #upstreams: UpstreamAudience<{ userId: string; user: PlainUser }>
  readonly #columns: EntityColumns<User, keyof PlainUser>
  #isRunning = false

  constructor(deps: UpdateDeps) {
    this.#deps = deps
    this.#upstreams = new UpstreamAudience(deps, (changes, audience) => {
      for (const { userId, user } of changes) this.#send(user, without(observersOf(audience, userId), userId), false)
    })
    this.#columns = columnsOf(deps.orm.em, User, plainUserProperties)
  }

  changed(userId: string, fields: readonly string[]): void {
    if (this.#deps.sessions.isEmpty() || this.#changed.size >= policy.profileUpdates) return
    const isPublic = fields.some((field) => !ownFields.includes(field))
    this.#note(userId, isPublic)
    if (!this.#isRunning) void this.#run()
  }

  #note(userId: string, isPublic: boolean): void {
    this.#changed.set(userId, isPublic || this.#changed.get(userId) === true)
  }

  async #run(): Promise<void> {
    const { log, timer, timings } = this.#deps
    this.#isRunning = true
    while (this.#changed.size > 0) {
      const batch = [...this.#changed].slice(0, policy.changesPerRead)
      for (const [userId] of batch) this.#changed.delete(userId)
      try {
        await this.#tell(batch)
      } catch (err) {
        log.warn({ err }, 'profile changes wait')
        for (const [userId, isPublic] of batch) this.#note(userId, isPublic)
        await delay(timer, timings.databaseRetryMs)
      }
    }
    this.#isRunning = false
  }

  async #tell(batch: readonly (readonly [string, boolean])[]): Promise<void> {
    const { orm, node } = this.#deps
    const seen = batch.flatMap(([userId, isPublic]) => (isPublic ? [userId] : []))
    const audience = await readAudience(this.#deps, { userIds: seen }, { onNode: node.id })
    const query = `select ${this.#columns.sql} from users where users.id = any(?::bigint[])`
    const rows = await read<object>(orm.em.fork(), query, [bigintArray(batch.map(([userId]) => userId))])
    const users = rows.map((row) => this.#columns.read(row))
    const isPublic = new Set(seen)
    this.#upstreams.tell(users.flatMap((user) => (isPublic.has(user.id) ? [{ userId: user.id, user }] : [])))
    for (const user of users) {
      const observers = without(observersOf(audience, user.id), user.id)
      this.#send(user, [user.id], true)
      this.#send(user, observers, false)
    }
  }

  #send(user: PlainUser, recipients: Iterable<string>, isSelf: boolean): void {
    let frame: Buffer | undefined
    for (const recipient of recipients) {
      for (const socket of this.#deps.sessions.find(recipient)?.sockets ?? []) {
        frame ??= encodeFrame({ type: 'user_updated', user: sanitizeUser(user, isSelf) } satisfies UserUpdatedMessage)
        sendOrKeep(this.#deps, socket, frame)
      }
    }
  }
}

function without(ids: Set<string>, id: string): Set<string> {
  ids.delete(id)
  return ids
}

export async function subscribeProfileChanges(
  deps: UpdateDeps & { bus: Pick<Bus, 'subscribe'> },
): Promise<Subscription> {
  const updates = new ProfileUpdates(deps)
  return await deps.bus.subscribe(profileChanged, async ({ payload }) =>
    updates.changed(payload.userId, payload.changed),
  )
}
