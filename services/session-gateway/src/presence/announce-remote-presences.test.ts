import { manualTimer, movableClock } from '@gatehouse/runtime'
import { createMetrics } from '@gatehouse/service-kit'
import { capturedLog } from '@gatehouse/test-kit'
import { expect } from 'chai'
import type { SessionSocket } from '../connection/session-socket.ts'
import { createSessionMetrics } from '../metrics.ts'
import { timings } from '../policy.ts'
import { emptyAudience, type Audience } from './audience.ts'
import type { PresenceStore } from './presence-store.ts'
import { SessionRegistry } from '../sessions/session-registry.ts'
import { RemotePresenceAnnouncer } from './announce-remote-presences.ts'
import { RemotePresences } from './remote-presences.ts'

const [friend, remote, another] = ['1', '2', '3']

describe('presence that peers report while the database fails', () => {
  it('is announced a second later, as it is by then', async () => {
    const node = openNode()

    node.store.fails = true
    node.report(remote, 'online')
    node.report(another, 'online')
    await node.advance(50)
    node.store.fails = false
    node.report(another, 'offline')
    await node.advance(999)
    expect(node.sent).to.deep.equal([])
    await node.advance(1)

    expect(node.sent).to.deep.equal([`${remote} online`, `${another} offline`])
    await node.advance(60_000)
    expect(node.sent).to.have.length(2)
  })

  it('ends by time then too', async () => {
    const node = openNode()
    node.report(remote, 'online')
    await node.advance(50)

    node.store.fails = true
    node.clock.advance(60_000)
    node.announcer.expire()
    await node.advance(50)
    node.store.fails = false
    await node.advance(1_000)

    expect(node.sent).to.deep.equal([`${remote} online`, `${remote} offline`])
  })

  it('is read no more once the announcer has ended', async () => {
    const node = openNode()
    node.store.fails = true
    node.report(remote, 'online')
    node.timer.advance(50)

    await node.announcer[Symbol.asyncDispose]()
    await node.advance(60_000)

    expect(node.store.reads).to.equal(1)
    expect(node.timer.pending()).to.equal(0)
  })
})

/** A node on which a friend of the reported users is connected. */
function openNode() {
  const timer = manualTimer()
  const clock = movableClock()
  const { log } = capturedLog()
  const sessions = new SessionRegistry()
  const sent: string[] = []
  const connection = { write: (frames: Buffer) => void sent.push(...readFrames(frames)) }
  const socket = {
    phase: 'ready',
    readyState: 1,
    OPEN: 1,
    bufferedAmount: 0,
    unsentReadyBytes: 0,
    readyAt: 0,
    connection,
  }
  sessions.add(socket as unknown as SessionSocket, friend, { iat: 0, exp: 0 })
  const store = { fails: false, reads: 0, ...({} as PresenceStore) }
  store.findConnected = async () => new Set()
  store.readAudience = async (userIds): Promise<Audience> => {
    store.reads += 1
    if (store.fails) throw new Error('the database is away')
    return { ...emptyAudience, linkedTo: new Map(userIds.map((id) => [id, [friend]])) }
  }
  const counts = { authenticated: () => 0, unauthenticated: () => 0 }
  const announcer = new RemotePresenceAnnouncer({
    ...{ timer, clock, log, timings, sessions },
    sessionMetrics: createSessionMetrics(createMetrics(), counts),
    presenceStore: store,
    remotePresences: new RemotePresences(),
    node: { id: 'node' },
  })
  return {
    ...{ timer, clock, announcer, store, sent },
    report: (userId = '', status: 'online' | 'offline') =>
      announcer.take({ userId, status, until: clock.now() + 60_000 }),
    async advance(ms: number): Promise<void> {
      timer.advance(ms)
      await new Promise<void>((resolve) => void setImmediate(resolve))
    },
  }
}

/** `presence_update` messages in unmasked text frames of up to 125 bytes. */
function readFrames(frames: Buffer): string[] {
  if (frames.length === 0) return []
  const end = 2 + frames[1]!
  const { userId, status } = JSON.parse(String(frames.subarray(2, end))) as { userId: string; status: string }
  return [`${userId} ${status}`, ...readFrames(frames.subarray(end))]
}
