import { presenceRecorded, remotePresenceReported } from '@gatehouse/contracts'
import { coalesce } from '@gatehouse/runtime'
import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'
import { emptyAudience } from './audience.ts'
import { firstSnapshot, type ChangesCursor, type CurrentPresence } from './presence-store.ts'
import type { PresenceChange, PresenceStore } from './presence-store.ts'
import { sendChanges, type SendDeps, type VisibleChange } from './send-changes.ts'
import type { UpstreamAudience } from './upstream-audience.ts'

/**
 * Reads the presence changes of all nodes from PostgreSQL, and sends them to the sockets of this node.
 *
 * State. `since`: the snapshot of the last complete read. `asked`: users to read even if no node has recorded a change.
 * `isAwake`: something may have changed since the last read began. `deleted`: accounts that were deleted since then.
 *
 * One read finds the rows of presence_changes that `since` does not show, page by page, and sends each page to its audience
 * here. `since` moves once all pages are sent. A failed read starts over from the same snapshot, so a socket may hear of a
 * change twice.
 *
 * Callers. The reconciler and the eviction call `recorded` after a commit. Each heartbeat calls `wake`, because a message
 * of another node may be lost. An announcement of an upstream calls `recordAgain`. Peers report the presence of their users
 * over the bus. A deletion calls `sendDeletion`, because the audience of a deleted account can no longer be read.
 *
 * What must never happen:
 * - A change falls between two reads. The first snapshot is taken before the first handshake, and a read shows what was
 *   committed after its first page once more.
 * - Two reads run at the same time. `running` excludes it.
 * - A peer's report hides a socket that the user has here, or is stored: reports are in memory only.
 * - Reads take the whole of a slow database. The pause grows with the time of the last read.
 *
 * docs/decisions/presence.md.
 */

type FeedDeps = Pick<OperationContext, 'bus' | 'timer' | 'timings' | 'log' | 'clock'> &
  SendDeps & {
    presenceStore: Pick<PresenceStore, 'readAudience' | 'readChanges' | 'recordAgain'>
    remotePresences: RemotePresences
    node: { readonly id: string }
    upstreamAudience?: Pick<UpstreamAudience<VisibleChange>, 'tell' | 'forget'>
  }

export type PresenceFeed = Awaited<ReturnType<typeof openPresenceFeed>>

/** Open it before the first handshake. Contract: 6, presence_update; docs/decisions/presence.md. */
// eslint-disable-next-line max-lines-per-function -- one thing: its functions share its state
export async function openPresenceFeed(deps: FeedDeps) {
  const { bus, clock, log, node, presenceStore, remotePresences, sessions, timer, timings, upstreamAudience } = deps
  let since = (await presenceStore.readChanges({ since: firstSnapshot, userIds: [], limit: 0 })).snapshot
  /** Users whose presence a peer has reported: read beside the changes. */
  let reported = new Set<string>()
  /** Deleted since the last read began, which may not show it. */
  const deleted = new Set<string>()
  let isAwake = false
  let scheduled: unknown
  let nextAt = 0
  let running: Promise<void> | undefined
  let stopped = false

  function wake(): void {
    isAwake = true
    schedule()
  }

  function schedule(): void {
    if (running || stopped) return
    const start = () => {
      scheduled = undefined
      running = readAndDeliver()
    }
    scheduled ??= timer.set(start, Math.max(0, nextAt - timer.now()))
  }

  function addReported(userIds: readonly string[]): void {
    for (const userId of userIds) reported.add(userId)
    if (userIds.length > 0) wake()
  }

  async function readAndDeliver(): Promise<void> {
    const before = reported
    reported = new Set()
    isAwake = false
    deleted.clear()
    let pauseMs: number = timings.presenceGatherMs
    try {
      const readMs = await deliver(before)
      // Handshakes come first where the database is busy.
      pauseMs = Math.max(pauseMs, Math.min(policy.feedPauses * readMs, timings.databaseRetryMs))
    } catch (err) {
      log.warn({ err }, 'presence changes not delivered yet')
      // A client sees a dropped report in its next `ready`.
      reported = new Set([...before, ...reported].slice(-policy.remotePresences))
      isAwake = true
      pauseMs = timings.databaseRetryMs
    }
    running = undefined
    nextAt = timer.now() + pauseMs
    if (isAwake) schedule()
  }

  /** What is committed after the first page is read again. Gives the time of the reads. */
  async function deliver(of: ReadonlySet<string>): Promise<number> {
    let readMs = 0
    let after: ChangesCursor | undefined
    let snapshot: string | undefined
    let userIds = [...of]
    do {
      const startedAt = timer.now()
      const page = await presenceStore.readChanges({ since, after, userIds, limit: policy.changesPerRead })
      const ids = sessions.isEmpty() ? [] : [...new Set(page.presences.map(({ userId }) => userId))]
      const audience = await presenceStore.readAudience({ userIds: ids }, { onNode: node.id })
      readMs += timer.now() - startedAt
      const changes = page.presences.flatMap((presence) => changeOf(presence, of))
      sendChanges(deps, changes, audience)
      if (!sessions.isEmpty()) upstreamAudience?.tell(changes)
      snapshot ??= page.snapshot
      after = page.next
      userIds = []
    } while (after)
    since = snapshot
    return readMs
  }

  function changeOf({ recordedBy, ...change }: CurrentPresence, of: ReadonlySet<string>): VisibleChange[] {
    const { userId, status } = change
    if (deleted.has(userId)) return []
    const isReport = recordedBy === null
    // A socket here counts more than a report.
    if (status === 'online') return isReport ? [] : [{ ...change, isIncludedInReady: recordedBy === node.id }]
    // The report tells it, a newer one with the next read.
    if (reported.has(userId) || (!isReport && of.has(userId))) return []
    if (!remotePresences.isOnline(userId)) return [change]
    return isReport ? [{ ...change, status: 'online' }] : []
  }

  function report(presence: RemotePresence): void {
    if (remotePresences.report(presence, clock.now())) addReported([presence.userId])
  }

  /** Other nodes read after a lost message with their next heartbeat. */
  function wakeAll(changes: readonly PresenceChange[]): void {
    if (changes.length === 0) return
    void bus.publish(presenceRecorded, { by: node.id })
    wake()
  }

  // One statement at a time, however many are announced.
  const recordAgain = coalesce<never>(async (userIds) => {
    wakeAll(await presenceStore.recordAgain(userIds, node.id))
    return []
  })

  const events = [presenceRecorded, remotePresenceReported] as const
  const subscription = await bus.subscribe(events, async ({ name, payload }) => {
    if (name === 'RemotePresenceReported') report(payload)
    else if (payload.by !== node.id) wake()
  })
  return {
    wake,
    report,
    recorded(changes: readonly PresenceChange[]): void {
      for (const { status } of changes) deps.sessionMetrics.presenceChanges.inc({ status })
      wakeAll(changes)
    },
    /** Others see these users now. Those that are online here are sent as if they had just come. Rejects when the database fails. */
    recordAgain: async (userIds: readonly string[]): Promise<void> =>
      void (await Promise.all(userIds.map(recordAgain))),
    expireReports: () => addReported(remotePresences.expire(clock.now())),
    /** The audience of a deleted account cannot be read. */
    sendDeletion(userId: string, audience: readonly string[]): void {
      remotePresences.forget(userId)
      deleted.add(userId)
      upstreamAudience?.forget(userId)
      const linkedTo = new Map([[userId, audience]])
      sendChanges(deps, [{ userId, status: 'offline' }], { ...emptyAudience, linkedTo })
    },
    async [Symbol.asyncDispose](): Promise<void> {
      stopped = true
      timer.clear(scheduled)
      await subscription[Symbol.asyncDispose]()
      await running
    },
  }
}

/** `until` in milliseconds. */
export type RemotePresence = { userId: string; status: 'online' | 'offline'; until: number }

export type RemotePresences = ReturnType<typeof createRemotePresences>

/** Never stored. Contract: 6, status. */
export function createRemotePresences() {
  const untilOf = new Map<string, number>()
  return {
    /** True when the presence changes. */
    report({ userId, status, until }: RemotePresence, now: number): boolean {
      if (status === 'offline' || until <= now) return untilOf.delete(userId)
      const isNew = !untilOf.has(userId)
      if (isNew && untilOf.size >= policy.remotePresences) return false
      untilOf.set(userId, until)
      return isNew
    },
    isOnline: (userId: string) => untilOf.has(userId),
    forget: (userId: string) => untilOf.delete(userId),
    expire(now: number): string[] {
      const ended = [...untilOf].flatMap(([userId, until]) => (until <= now ? [userId] : []))
      for (const userId of ended) untilOf.delete(userId)
      return ended
    },
    /** After the user is recorded: later reports are sent to the sockets. */
    onlineIds: () => [...untilOf.keys()],
  }
}
