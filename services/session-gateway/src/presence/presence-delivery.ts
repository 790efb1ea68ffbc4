import { LRUCache } from 'lru-cache'
import type { Deps, OperationContext } from '../deps.ts'
import { policy } from '../policy.ts'
import { emptyAudience, mergeAudiences, type Audience } from './audience.ts'
import type { ToldChange } from './presence-broadcaster.ts'
import type { PresenceChange } from './presence-store.ts'
import { sendChanges } from './send-changes.ts'

type DeliveryDeps = Pick<OperationContext, 'timer' | 'timings' | 'log'> &
  Pick<Deps, 'sessions' | 'sessionMetrics' | 'remotePresences' | 'presenceStore'> & {
    node: { readonly id: string }
  }

/** `audience`: where this node knows it already. */
type Taken = PresenceChange & { takenAt: number; audience: Audience | undefined }

/**
 * Sends changes of presence to those users of this node who see them. A change names its recipients where they are few;
 * else each node looks up its own part of the audience where it does not know it: at once for a change that comes alone,
 * and then once for all changes of a short time. Contract: 6, presence_update.
 */
export class PresenceDelivery implements AsyncDisposable {
  readonly #deps: DeliveryDeps
  readonly #versions = new LRUCache<string, number>({ max: policy.rememberedVersions })
  #pending: Taken[] = []
  #scheduled: unknown
  /** By the timer: what comes before it waits until then. */
  #nextAt = 0
  #running: Promise<void> | undefined
  #stopped = false

  constructor(deps: DeliveryDeps) {
    this.#deps = deps
  }

  /**
   * Takes changes, except where it or a newer one was taken: two nodes may publish changes of one user at the same time.
   * `audience` is that of all of them, which this node reads already, for the `ready` of the users; where it cannot be
   * read, it is looked up once more.
   */
  take(changes: readonly PresenceChange[], audience?: Promise<Audience>): void {
    const takenAt = this.#deps.timer.now()
    const news = changes.filter((change) => this.#remember(change) && this.#isVisible(change))
    const keep = (known?: Audience) => this.#keep(news.map((change) => ({ ...change, takenAt, audience: known })))
    if (audience) void audience.then(keep, () => keep())
    else keep()
  }

  /** Takes a change that a node has published. One of its recipients who connects here later reads it for their `ready`. */
  takeTold({ audience, ...change }: ToldChange): void {
    const isHere = (userId: string) => this.#deps.sessions.find(userId) !== undefined
    if (audience && !isHere(change.userId) && !audience.some(isHere)) this.#remember(change)
    else this.take([change], audience && Promise.resolve(onlyLinked(change.userId, audience)))
  }

  /** Sends that an account was deleted: its audience can no longer be looked up. */
  sendDeletion(userId: string, audience: readonly string[]): void {
    this.#versions.set(userId, Number.MAX_SAFE_INTEGER)
    const change = { userId, status: 'offline', takenAt: this.#deps.timer.now() } as const
    sendChanges(this.#deps, [change], onlyLinked(userId, audience))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true
    this.#deps.timer.clear(this.#scheduled)
    await this.#running
  }

  /** False where it or a newer one was taken. */
  #remember({ userId, version }: PresenceChange): boolean {
    if (version <= (this.#versions.get(userId) ?? -1)) return false
    this.#versions.set(userId, version)
    return true
  }

  /** Who is connected no longer here may be so at the home instance still, whose report tells the end of that. */
  #isVisible({ userId, status }: PresenceChange): boolean {
    return status === 'online' || !this.#deps.remotePresences.isOnline(userId)
  }

  #keep(changes: readonly Taken[]): void {
    const isNewest = ({ userId, version }: Taken) => version >= (this.#versions.get(userId) ?? version)
    // Meanwhile a newer change of the same user may have been taken.
    this.#pending.push(...changes.filter(isNewest))
    if (this.#pending.length > 0) this.#schedule()
  }

  #schedule(): void {
    if (this.#running || this.#stopped) return
    const { timer } = this.#deps
    const deliver = () => {
      this.#scheduled = undefined
      this.#running = this.#deliver()
    }
    this.#scheduled ??= timer.set(deliver, Math.max(0, this.#nextAt - timer.now()))
  }

  async #deliver(): Promise<void> {
    const { log, timer, timings } = this.#deps
    const changes = this.#pending.splice(0, policy.reconcileBatch)
    let pauseMs: number = timings.presenceGatherMs
    try {
      await this.#send(changes)
    } catch (err) {
      log.warn({ err, changes: changes.length }, 'presence changes not delivered yet')
      // A client that missed the oldest of very many sees the truth with its next `ready`.
      this.#pending = [...changes, ...this.#pending].slice(-policy.rememberedVersions)
      pauseMs = timings.databaseRetryMs
    }
    this.#running = undefined
    this.#nextAt = timer.now() + pauseMs
    if (this.#pending.length > 0) this.#schedule()
  }

  async #send(changes: readonly Taken[]): Promise<void> {
    const { node, presenceStore } = this.#deps
    const unknown = changes.filter(({ audience }) => audience === undefined)
    const userIds = [...new Set(unknown.map(({ userId }) => userId))]
    const read = await presenceStore.readAudience(userIds, { onNode: node.id })
    // Changes of one batch share an audience.
    const audiences = new Set([...changes.flatMap(({ audience }) => audience ?? []), read])
    const visible = changes.filter((change) => this.#isVisible(change))
    sendChanges(this.#deps, visible, mergeAudiences([...audiences]))
  }
}

function onlyLinked(userId: string, recipients: readonly string[]): Audience {
  return { ...emptyAudience, linkedTo: new Map([[userId, recipients]]) }
}
