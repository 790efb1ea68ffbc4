import type { Bus } from '@gatehouse/bus'
import { presenceChanged, presenceRecorded, remotePresenceReported } from '@gatehouse/contracts'
import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'
import { emptyAudience } from './audience.ts'
import {
  firstSnapshot,
  type ChangesCursor,
  type CurrentPresence,
  type PresenceChange,
  type PresenceStore,
} from './presence-store.ts'
import type { RemotePresence, RemotePresences } from './remote-presences.ts'
import type { UpstreamAudience } from './upstream-audience.ts'
import { sendChanges, type SendDeps, type VisibleChange } from './send-changes.ts'

type FeedDeps = Pick<OperationContext, 'timer' | 'timings' | 'log' | 'clock' | 'sessionMetrics'> &
  SendDeps & {
    bus: Pick<Bus, 'publish'>
    presenceStore: Pick<PresenceStore, 'readAudience' | 'readChanges'>
    remotePresences: RemotePresences
    node: { readonly id: string }
    upstreamAudience?: Pick<UpstreamAudience<VisibleChange>, 'tell' | 'forget'>
  }

/** Read beside the changes: reported by a peer, or changed by a session gateway of 0.2.0. */
type Asked = ReadonlyMap<string, 'reported' | 'changed'>

/** A first change is read at once, the next ones together. Contract: 6, presence_update; docs/decisions/presence-changes.md */
export class PresenceFeed implements AsyncDisposable {
  readonly #deps: FeedDeps
  #since = firstSnapshot
  #asked = new Map<string, 'reported' | 'changed'>()
  /** Deleted since the last read began, which may not show it. */
  readonly #deleted = new Set<string>()
  #isAwake = false
  #scheduled: unknown
  #nextAt = 0
  #running: Promise<void> | undefined
  #stopped = false

  constructor(deps: FeedDeps) {
    this.#deps = deps
  }

  /** Call it before the first handshake, which may miss later changes. */
  async open(): Promise<void> {
    const query = { since: firstSnapshot, userIds: [], limit: 0 }
    this.#since = (await this.#deps.presenceStore.readChanges(query)).snapshot
  }

  wake(): void {
    this.#isAwake = true
    this.#schedule()
  }

  /** Other nodes read after a lost message with their next heartbeat. */
  recorded(changes: readonly PresenceChange[]): void {
    if (changes.length === 0) return
    const { bus, node, sessionMetrics } = this.#deps
    void bus.publish(presenceRecorded, { by: node.id })
    for (const change of changes) {
      sessionMetrics.presenceChanges.inc({ status: change.status })
      void bus.publish(presenceChanged, { ...change, isRecorded: true })
    }
    this.wake()
  }

  changedUnrecorded(userId: string): void {
    this.#ask([userId], 'changed')
  }

  report(report: RemotePresence): void {
    if (this.#deps.remotePresences.report(report, this.#deps.clock.now())) this.#ask([report.userId], 'reported')
  }

  expireReports(): void {
    this.#ask(this.#deps.remotePresences.expire(this.#deps.clock.now()), 'reported')
  }

  /** The audience of a deleted account cannot be read. */
  sendDeletion(userId: string, audience: readonly string[]): void {
    this.#deps.remotePresences.forget(userId)
    this.#deleted.add(userId)
    this.#deps.upstreamAudience?.forget(userId)
    sendChanges(this.#deps, [{ userId, status: 'offline' }], {
      ...emptyAudience,
      linkedTo: new Map([[userId, audience]]),
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true
    this.#deps.timer.clear(this.#scheduled)
    await this.#running
  }

  #ask(userIds: readonly string[], why: 'reported' | 'changed'): void {
    for (const userId of userIds) this.#asked.set(userId, why)
    if (userIds.length > 0) this.wake()
  }

  #schedule(): void {
    if (this.#running || this.#stopped) return
    const { timer } = this.#deps
    const read = () => {
      this.#scheduled = undefined
      this.#running = this.#read()
    }
    this.#scheduled ??= timer.set(read, Math.max(0, this.#nextAt - timer.now()))
  }

  async #read(): Promise<void> {
    const { log, timer, timings } = this.#deps
    const asked = this.#asked
    this.#asked = new Map()
    this.#isAwake = false
    this.#deleted.clear()
    let pauseMs: number = timings.presenceGatherMs
    try {
      const readMs = await this.#deliver(asked)
      // Handshakes come first where the database is busy.
      pauseMs = Math.max(pauseMs, Math.min(policy.feedPauses * readMs, timings.databaseRetryMs))
    } catch (err) {
      log.warn({ err }, 'presence changes not delivered yet')
      // A client sees a dropped report in its next `ready`.
      this.#asked = new Map([...asked, ...this.#asked].slice(-policy.remotePresences))
      this.#isAwake = true
      pauseMs = timings.databaseRetryMs
    }
    this.#running = undefined
    this.#nextAt = timer.now() + pauseMs
    if (this.#isAwake) this.#schedule()
  }

  /** What is committed after the first page is read again. Gives the time of the reads. */
  async #deliver(asked: Asked): Promise<number> {
    const { node, presenceStore, sessions, timer } = this.#deps
    let readMs = 0
    let after: ChangesCursor | undefined
    let snapshot: string | undefined
    let userIds = [...asked.keys()]
    do {
      const startedAt = timer.now()
      const page = await presenceStore.readChanges({ since: this.#since, after, userIds, limit: policy.changesPerRead })
      const ids = sessions.isEmpty() ? [] : [...new Set(page.presences.map(({ userId }) => userId))]
      const audience = await presenceStore.readAudience({ userIds: ids }, { onNode: node.id })
      readMs += timer.now() - startedAt
      const changes = page.presences.flatMap((presence) => this.#changeOf(presence, asked))
      sendChanges(this.#deps, changes, audience)
      if (!sessions.isEmpty()) this.#deps.upstreamAudience?.tell(changes)
      snapshot ??= page.snapshot
      after = page.next
      userIds = []
    } while (after)
    this.#since = snapshot
    return readMs
  }

  #changeOf({ recordedBy, ...change }: CurrentPresence, asked: Asked): VisibleChange[] {
    const { node, remotePresences } = this.#deps
    const { userId, status } = change
    if (this.#deleted.has(userId)) return []
    const isReport = recordedBy === null && asked.get(userId) === 'reported'
    // A socket here counts more than a report.
    if (status === 'online') return isReport ? [] : [{ ...change, isToldByReady: recordedBy === node.id }]
    // The report tells it, a newer one with the next read.
    if (this.#asked.get(userId) === 'reported' || (!isReport && asked.get(userId) === 'reported')) return []
    if (!remotePresences.isOnline(userId)) return [change]
    return isReport ? [{ ...change, status: 'online' }] : []
  }
}

export async function subscribePresence(
  { bus, node }: { bus: Pick<Bus, 'subscribe'>; node: { readonly id: string } },
  feed: PresenceFeed,
): Promise<AsyncDisposable> {
  const events = [presenceRecorded, presenceChanged, remotePresenceReported] as const
  return await bus.subscribe(events, async ({ name, payload }) => {
    if (name === 'RemotePresenceReported') feed.report(payload)
    else if (name === 'PresenceRecorded' && payload.by !== node.id) feed.wake()
    else if (name === 'PresenceChanged' && !payload.isRecorded) feed.changedUnrecorded(payload.userId)
  })
}
