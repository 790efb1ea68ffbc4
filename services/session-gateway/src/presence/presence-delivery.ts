import { LRUCache } from 'lru-cache'
import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'
import { emptyAudience, mergeAudiences, type Audience } from './audience.ts'
import type { PresenceChange, PresenceStore } from './presence-store.ts'
import type { RemotePresences } from './remote-presences.ts'
import { sendChanges, type SendDeps } from './send-changes.ts'

type DeliveryDeps = Pick<OperationContext, 'timer' | 'timings' | 'log'> &
  SendDeps & {
    remotePresences: Pick<RemotePresences, 'isOnline'>
    presenceStore: Pick<PresenceStore, 'readAudience'>
    node: { readonly id: string }
  }

/** With the audience other nodes look nothing up. */
export type ToldChange = PresenceChange & { audience?: string[] | undefined }

type Taken = PresenceChange & { takenAt: number; audience: Audience | undefined }

/** Looks up a single change at once, later ones together. Contract: 6, presence_update. */
export class PresenceDelivery implements AsyncDisposable {
  readonly #deps: DeliveryDeps
  readonly #versions = new LRUCache<string, number>({ max: policy.rememberedVersions })
  #pending: Taken[] = []
  #scheduled: unknown
  #nextAt = 0
  #running: Promise<void> | undefined
  #stopped = false

  constructor(deps: DeliveryDeps) {
    this.#deps = deps
  }

  /** Two nodes may publish one user's change, so only a newer one counts. A failed `audience` is read again. */
  take(changes: readonly PresenceChange[], audience?: Promise<Audience>): void {
    const takenAt = this.#deps.timer.now()
    const news = changes.filter((change) => this.#remember(change) && this.#isVisible(change))
    const keep = (known?: Audience) => this.#keep(news.map((change) => ({ ...change, takenAt, audience: known })))
    if (audience) void audience.then(keep, () => keep())
    else keep()
  }

  /** A recipient who connects later reads the change in `ready`. */
  takeTold({ audience, ...change }: ToldChange): void {
    const isHere = (userId: string) => this.#deps.sessions.find(userId) !== undefined
    if (audience && !isHere(change.userId) && !audience.some(isHere)) this.#remember(change)
    else this.take([change], audience && Promise.resolve(onlyLinked(change.userId, audience)))
  }

  /** The audience of a deleted account cannot be looked up. */
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

  /** False unless it is newer. */
  #remember({ userId, version }: PresenceChange): boolean {
    if (version <= (this.#versions.get(userId) ?? -1)) return false
    this.#versions.set(userId, version)
    return true
  }

  /** A user who left this node may be online at the home instance. */
  #isVisible({ userId, status }: PresenceChange): boolean {
    return status === 'online' || !this.#deps.remotePresences.isOnline(userId)
  }

  #keep(changes: readonly Taken[]): void {
    const isNewest = ({ userId, version }: Taken) => version >= (this.#versions.get(userId) ?? version)
    // A newer change may have come meanwhile.
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
      // A client sees a dropped change in its next `ready`.
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
