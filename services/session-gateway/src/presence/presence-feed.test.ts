import { createLocalBus } from '@gatehouse/bus'
import { presenceRecorded, remotePresenceReported } from '@gatehouse/contracts'
import { createMetrics } from '@gatehouse/service-kit'
import { capturedLog } from '@gatehouse/test-kit'
import { manualTimer, movableClock } from '@gatehouse/test-kit/time'
import { expect } from 'chai'
import { FakePresenceStore } from '../../test/fake-presence-store.ts'
import type { SessionSocket } from '../connection/session-socket.ts'
import { createSessionMetrics } from '../context.ts'
import { policy, timings } from '../policy.ts'
import { createSessionRegistry } from '../sessions/session-registry.ts'
import { emptyAudience, type Audience, type AudienceOf } from './audience.ts'
import { createRemotePresences, openPresenceFeed } from './presence-feed.ts'

const [friend, user, another] = ['1', '2', '3'] as const
const [here, elsewhere] = ['node-1', 'node-2'] as const
const gatherMs = timings.presenceGatherMs

describe('the feed of presence', () => {
  it('reads a single change at once, and those soon after it together', async () => {
    const node = await openNode()

    await node.write(elsewhere, { online: [user] })
    await node.hint(elsewhere)
    await node.advance(0)
    expect(node.sent).to.deep.equal([`${user} online`])
    await node.write(elsewhere, { online: [another] })
    await node.hint(elsewhere)
    await node.advance(gatherMs - 1)
    await node.write(elsewhere, { offline: [user] })
    await node.hint(elsewhere)
    expect(node.store.reads).to.equal(1)
    await node.advance(1)

    expect(node.sent.slice(1)).to.deep.equal([`${another} online`, `${user} offline`])
    await node.advance(60_000)
    expect(node.store.reads).to.equal(2)
  })

  it('tells what this node has recorded to its own users and to the other nodes, and takes no notice of that itself', async () => {
    const node = await openNode()
    const told: unknown[] = []
    await node.bus.subscribe(presenceRecorded, async ({ payload }) => void told.push(payload))

    node.feed.recorded(await node.write(here, { online: [user, another] }))
    node.feed.recorded([])
    await node.advance(0)
    await node.advance(60_000)

    expect(told).to.deep.equal([{ by: here }])
    expect(node.sent).to.deep.equal([`${user} online`, `${another} online`])
    expect(node.store.reads).to.equal(1)
  })

  it('records users again in one statement for all who are announced meanwhile', async () => {
    const node = await openNode()
    await node.write(here, { online: [user, another] })
    await node.advance(0)
    const batches: (readonly string[])[] = []
    const record = node.store.recordAgain.bind(node.store)
    node.store.recordAgain = async (userIds, nodeId) => {
      batches.push(userIds)
      return await record(userIds, nodeId)
    }

    await Promise.all([[user], [user, another], [another]].map((ids) => node.feed.recordAgain(ids)))
    await node.advance(60_000)

    expect(batches).to.deep.equal([[user, another]])
    expect(node.sent.slice(-2)).to.deep.equal([`${user} online`, `${another} online`])
  })

  it('reads more changes than one read may have in pages, and misses none that is committed meanwhile', async () => {
    const node = await openNode()
    const users = Array.from({ length: 2 * policy.changesPerRead + 1 }, (_, index) => String(100 + index))
    await node.write(elsewhere, { online: users })
    node.store.beforeRead = async (place) => {
      if (place === 2) await node.write(elsewhere, { online: [user], offline: users.slice(0, 1) })
    }

    node.feed.wake()
    await node.advance(0)
    node.feed.wake()
    await node.advance(gatherMs)

    const last = new Map(node.sent.map((change) => change.split(' ') as [string, string]))
    expect(last.size).to.equal(users.length + 1)
    expect([...last].flatMap(([id, status]) => (status === 'offline' ? id : []))).to.deep.equal(users.slice(0, 1))
  })

  it('pauses four times as long as a read took, and a second at most', async () => {
    const node = await openNode()
    for (const [tookMs, pauseMs] of [
      [100, 400],
      [600, 1_000],
    ] as const) {
      node.store.beforeRead = async () => node.timer.advance(tookMs)
      node.feed.wake()
      await node.advance(0)
      const { reads } = node.store
      node.feed.wake()
      await node.advance(pauseMs - 1)
      expect(node.store.reads).to.equal(reads)
      delete node.store.beforeRead
      await node.advance(1)
      expect(node.store.reads).to.equal(reads + 1)
      await node.advance(60_000)
    }
  })

  it('begins with what is recorded after its start, and reads no audience without users', async () => {
    const node = await openNode({ before: [user] })
    node.feed.wake()
    await node.advance(0)
    expect(node.sent).to.deep.equal([])

    node.leave()
    await node.write(elsewhere, { online: [another] })
    node.feed.wake()
    await node.advance(gatherMs)

    expect(node.store.audiences.flat()).to.deep.equal([])
  })

  it('reads again a second after a failure, as it is by then', async () => {
    const node = await openNode()

    node.store.fails = true
    await node.write(elsewhere, { online: [user, another] })
    node.feed.wake()
    await node.report(friend, 'online')
    await node.advance(0)
    node.store.fails = false
    await node.write(elsewhere, { offline: [another] })
    await node.advance(999)
    expect(node.sent).to.deep.equal([])
    await node.advance(1)

    expect(node.sent).to.deep.equal([`${user} online`, `${another} offline`, `${friend} online`])
    await node.advance(60_000)
    expect(node.sent).to.have.length(3)
  })

  it('ends a report by time, also while the database fails', async () => {
    const node = await openNode()
    await node.report(user, 'online')
    await node.advance(0)

    node.store.fails = true
    node.clock.advance(60_000)
    node.feed.expireReports()
    await node.advance(gatherMs)
    node.store.fails = false
    await node.advance(1_000)

    expect(node.sent).to.deep.equal([`${user} online`, `${user} offline`])
  })

  it('tells a report that comes during a read once, with the next one', async () => {
    const node = await openNode()
    await node.report(user, 'online')
    await node.advance(0)
    await node.write(elsewhere, { online: [user] })
    node.feed.wake()
    await node.advance(gatherMs)
    await node.write(elsewhere, { offline: [user] })
    node.store.beforeRead = async () => {
      delete node.store.beforeRead
      node.feed.report({ userId: user, status: 'offline', until: 0 })
    }

    node.feed.wake()
    await node.advance(gatherMs)
    await node.advance(gatherMs)

    expect(node.sent).to.deep.equal([`${user} online`, `${user} online`, `${user} offline`])
  })

  it('tells nothing of an account that is deleted while it is read', async () => {
    const node = await openNode()
    await node.write(elsewhere, { online: [user, another] })
    node.store.beforeRead = async () => node.feed.sendDeletion(user, [friend])

    node.feed.wake()
    await node.advance(0)

    expect(node.sent).to.deep.equal([`${user} offline`, `${another} online`])
  })

  it('reads no more once it has ended', async () => {
    const node = await openNode()
    node.store.fails = true
    node.feed.wake()
    node.timer.advance(0)

    await node.feed[Symbol.asyncDispose]()
    node.feed.wake()
    await node.advance(60_000)

    expect(node.store.reads).to.equal(1)
    expect(node.timer.pending()).to.equal(0)
  })
})

class WatchedStore extends FakePresenceStore {
  fails = false
  reads = 0
  readonly audiences: (readonly string[])[] = []
  beforeRead?: (place: number) => Promise<void>

  override async readAudience({ userIds }: AudienceOf = { userIds: [] }): Promise<Audience> {
    this.audiences.push(userIds)
    return { ...emptyAudience, linkedTo: new Map(userIds.map((id) => [id, [friend]])) }
  }

  override async readChanges(query: Parameters<FakePresenceStore['readChanges']>[0]) {
    if (query.limit === 0) return await super.readChanges(query)
    this.reads += 1
    if (this.fails) throw new Error('the database is away')
    const page = await super.readChanges(query)
    await this.beforeRead?.(this.reads)
    return page
  }
}

/** A node on which a friend of all other users is connected. */
async function openNode({ before = [] }: { before?: string[] } = {}) {
  const timer = manualTimer()
  const clock = movableClock()
  const { log } = capturedLog()
  const bus = createLocalBus({ log })
  const sessions = createSessionRegistry()
  const sent: string[] = []
  const connection = { write: (frames: Buffer) => void sent.push(...readFrames(frames)) }
  const socket = { phase: 'ready', readyState: 1, OPEN: 1, bufferedAmount: 0, unsentReadyBytes: 0, connection }
  const { user: local } = sessions.add(socket as unknown as SessionSocket, friend, { iat: 0, exp: 0 }).session
  const store = new WatchedStore()
  for (const id of [here, elsewhere]) store.rows.set(id, new Set())
  for (const id of [friend, user, another]) store.accounts.set(id, { isDeleted: false, passwordChangedAt: null })
  const write = (nodeId: string, users: { online?: string[]; offline?: string[] }) =>
    store.transaction((transaction) => transaction.write(nodeId, { online: [], offline: [], ...users }))
  await write(elsewhere, { online: before })
  const counts = { authenticated: () => 0, unauthenticated: () => 0 }
  const node = { id: here }
  const feed = await openPresenceFeed({
    timer,
    clock,
    log,
    timings,
    sessions,
    bus,
    node,
    sessionMetrics: createSessionMetrics(createMetrics(), counts),
    presenceStore: store,
    remotePresences: createRemotePresences(),
  })
  const settle = async () => {
    for (let turn = 0; turn < 3; turn += 1) await new Promise<void>((resolve) => void setImmediate(resolve))
  }
  return {
    timer,
    clock,
    feed,
    store,
    sent,
    bus,
    write,
    leave: () => sessions.forget(local),
    hint: async (by: string) => (await bus.publish(presenceRecorded, { by }), await settle()),
    async report(userId: string, status: 'online' | 'offline') {
      await bus.publish(remotePresenceReported, { userId, status, until: clock.now() + 60_000 })
      await settle()
    },
    async advance(ms: number): Promise<void> {
      timer.advance(ms)
      await settle()
    },
  }
}

/** `presence_update` messages in unmasked text frames of up to 125 bytes. */
function readFrames(frames: Buffer): string[] {
  const seen: string[] = []
  for (let at = 0; at < frames.length; at += 2 + frames[at + 1]!) {
    const { userId, status } = JSON.parse(String(frames.subarray(at + 2, at + 2 + frames[at + 1]!))) as {
      userId: string
      status: string
    }
    seen.push(`${userId} ${status}`)
  }
  return seen
}
