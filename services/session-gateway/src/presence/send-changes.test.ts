import { expect } from 'chai'
import fc from 'fast-check'
import { manualTimer } from '@gatehouse/runtime'
import type { SessionSocket } from '../connection/session-socket.ts'
import { policy, timings } from '../policy.ts'
import { SessionRegistry } from '../sessions/session-registry.ts'
import { emptyAudience, type Audience } from './audience.ts'
import { PresenceDelivery } from './presence-delivery.ts'
import type { VisibleChange } from './presence-frames.ts'
import { sendChanges, type SendDeps } from './send-changes.ts'

describe('presence_update on a node', () => {
  it('goes once to each user who sees it, however many spaces and friendships lead there, in the order of the changes', () => {
    const id = fc.constantFrom('1', '2', '3', '4', '5', '6')
    const lists = fc.dictionary(id, fc.uniqueArray(id))
    const changes = fc.array(fc.record({ userId: id, status: fc.constantFrom('online' as const, 'offline' as const) }))
    fc.assert(
      fc.property(changes, lists, lists, lists, (changed, spaces, members, linked) => {
        const audience = { spacesOf: mapOf(spaces), membersOf: mapOf(members), linkedTo: mapOf(linked) }
        const node = nodeWith('1', '2', '3', '4', '5', '6')

        sendChanges(node.deps, changed.map(earlier), audience)

        for (const [recipient, socket] of node.sockets) {
          const seen = changed.filter(({ userId }) => isSeen(recipient, userId, { spaces, members, linked }))
          expect(received(socket)).to.deep.equal(seen)
        }
      }),
    )
  })

  it('is encoded once for all who see the same changes', () => {
    const node = nodeWith('1', '2', '3')
    const membersOf = new Map([['space', ['1', '2', '3']]])

    sendChanges(node.deps, [earlier({ userId: '9', status: 'online' })], {
      spacesOf: new Map([['9', ['space']]]),
      membersOf,
      linkedTo: new Map(),
    })

    expect(new Set([...node.sockets.values()].flatMap(({ written }) => written)).size).to.equal(1)
  })

  it('of the own user goes to the connections that were ready before the change, and to no later one', () => {
    const node = nodeWith('1')
    const socket = node.sockets.get('1')!
    const audience = { ...emptyAudience, linkedTo: new Map([['2', ['1']]]) }
    const changes = [
      { userId: '1', status: 'online', takenAt: 50 },
      { userId: '2', status: 'online', takenAt: 50 },
    ] as const

    for (const readyAt of [49, 50]) {
      Object.assign(socket, { readyAt, written: [] })
      sendChanges(node.deps, changes, audience)
      const ids = received(socket).map(({ userId }) => userId)
      expect(ids).to.deep.equal(readyAt < 50 ? ['1', '2'] : ['2'])
    }
  })

  it('waits for the ready of a socket in its handshake', () => {
    const node = nodeWith('1')
    const socket = Object.assign(node.sockets.get('1')!, { phase: 'authenticating' as const })

    sendChanges(node.deps, [earlier({ userId: '2', status: 'online' })], {
      ...emptyAudience,
      linkedTo: new Map([['2', ['1']]]),
    })

    expect(received(socket)).to.deep.equal([])
    expect(framesIn(Buffer.concat(socket.backlog ?? []))).to.deep.equal([{ userId: '2', status: 'online' }])
  })

  it('ends a socket in its handshake for which too much waits', () => {
    const node = nodeWith('1')
    let terminated = 0
    const terminate = () => void (terminated += 1)
    const socket = Object.assign(node.sockets.get('1')!, { phase: 'authenticating' as const, terminate })
    const send = () =>
      sendChanges(node.deps, [earlier({ userId: '2', status: 'online' })], {
        ...emptyAudience,
        linkedTo: new Map([['2', ['1']]]),
      })

    send()
    const bytes = socket.backlogBytes
    socket.backlogBytes = policy.sendBufferBytes - bytes
    send()
    expect([terminated, socket.backlog?.length]).to.deep.equal([0, 2])
    send()

    expect([terminated, socket.backlog]).to.deep.equal([1, undefined])
  })

  it('waits for no other change when it comes alone; those soon after one share a read of their audience', async () => {
    const { delivery, reads, pass } = deliveryTo(nodeWith())
    await using _delivery = delivery
    const take = (userId: string) => delivery.take([{ userId, status: 'online', version: 1 }])

    take('1')
    take('2')
    await pass(0)
    take('3')
    await pass(timings.presenceGatherMs - 1)
    take('4')
    const soon = reads.length
    await pass(1)
    await pass(timings.presenceGatherMs)
    take('5')
    await pass(0)

    expect([soon, ...reads]).to.deep.equal([1, ['1', '2'], ['3', '4'], ['5']])
  })

  it('goes to an audience that is being read already, once, and together with changes whose audience is not', async () => {
    const node = nodeWith('1', '2')
    const { delivery, reads, pass } = deliveryTo(node, { linkedTo: new Map([['4', ['1', '2']]]) })
    await using _delivery = delivery
    const known = Promise.withResolvers<Audience>()
    const [change, other] = [online('3'), online('4')]

    delivery.take([change], known.promise)
    delivery.take([change])
    await pass(0)
    known.resolve({ ...emptyAudience, linkedTo: new Map([['3', ['1', '9']]]) })
    delivery.take([other])
    await pass(0)

    expect(reads).to.deep.equal([['4']])
    expect(received(node.sockets.get('1')!).map(({ userId }) => userId)).to.have.members(['3', '4'])
    expect(received(node.sockets.get('2')!)).to.deep.equal([{ userId: '4', status: 'online' }])
  })

  it('is looked up where that audience could not be read, and left out where a newer change was told meanwhile', async () => {
    const node = nodeWith('1')
    const { delivery, reads, pass } = deliveryTo(node, { linkedTo: new Map([['2', ['1']]]) })
    await using _delivery = delivery
    const known = [Promise.withResolvers<Audience>(), Promise.withResolvers<Audience>()] as const

    delivery.take([online('3')], known[0].promise)
    delivery.take([online('2')], known[1].promise)
    known[0].reject(new Error('canceled'))
    delivery.take([{ userId: '2', status: 'offline', version: 2 }])
    await pass(0)
    known[1].resolve({ ...emptyAudience, linkedTo: new Map([['2', ['1']]]) })
    await pass(timings.presenceGatherMs)

    expect(reads.flat()).to.have.members(['2', '3'])
    expect(received(node.sockets.get('1')!)).to.deep.equal([{ userId: '2', status: 'offline' }])
  })
})

const online = (userId: string) => ({ userId, status: 'online', version: 1 }) as const

/** A delivery with a timer that a test moves. Each user asked for has the same audience. */
function deliveryTo(node: ReturnType<typeof nodeWith>, audience: Partial<Audience> = {}) {
  const timer = manualTimer()
  const reads: string[][] = []
  const readAudience = async (userIds: readonly string[]) => {
    reads.push([...userIds])
    return { ...emptyAudience, ...audience }
  }
  const parts = { ...node.deps, node: { id: 'node' }, remotePresences: { isOnline: () => false } }
  const deps = { ...parts, timer, timings, presenceStore: { readAudience } } as unknown as ConstructorParameters<
    typeof PresenceDelivery
  >[0]
  const pass = async (ms: number) => {
    await new Promise(setImmediate)
    timer.advance(ms)
    await new Promise(setImmediate)
  }
  return { delivery: new PresenceDelivery(deps), reads, pass }
}

type Seen = { userId: string; status: 'online' | 'offline' }
type Lists = Record<string, string[]>
type FakeSocket = SessionSocket & { written: Buffer[] }

const earlier = (change: Seen): VisibleChange => ({ ...change, takenAt: 100 })
const mapOf = (lists: Lists) => new Map(Object.entries(lists))

function isSeen(
  recipient: string,
  userId: string,
  { spaces, members, linked }: { spaces: Lists; members: Lists; linked: Lists },
): boolean {
  const ofUser = spaces[userId] ?? []
  const inSpace = ofUser.some((space) => members[space]?.includes(recipient))
  const isOwn = recipient === userId && ofUser.length === 0
  return inSpace || isOwn || (linked[userId]?.includes(recipient) ?? false)
}

/** Users with one ready socket each. */
function nodeWith(...userIds: string[]) {
  const sessions = new SessionRegistry()
  const sockets = new Map<string, FakeSocket>()
  for (const userId of userIds) {
    const socket = {
      phase: 'ready',
      readyAt: 0,
      readyState: 1,
      OPEN: 1,
      bufferedAmount: 0,
      unsentReadyBytes: 0,
      backlogBytes: 0,
    }
    const fake = Object.assign(socket, { written: [] as Buffer[], connection: {} }) as unknown as FakeSocket
    Object.assign(fake.connection!, { write: (bytes: Buffer) => void fake.written.push(bytes) })
    sessions.add(fake, userId, { iat: 0, exp: 0 })
    sockets.set(userId, fake)
  }
  const sessionMetrics = { slowReaders: { inc: () => undefined } }
  return { sockets, deps: { sessions, sessionMetrics } as unknown as SendDeps }
}

const received = ({ written }: FakeSocket) => framesIn(Buffer.concat(written))

/** What the frames say; all of them are short. */
function framesIn(bytes: Buffer): Seen[] {
  const seen: Seen[] = []
  for (let at = 0; at < bytes.length; at += 2 + bytes[at + 1]!) {
    const message = JSON.parse(bytes.subarray(at + 2, at + 2 + bytes[at + 1]!).toString()) as Seen & { type: string }
    expect([bytes[at], message.type]).to.deep.equal([0x81, 'presence_update'])
    seen.push({ userId: message.userId, status: message.status })
  }
  return seen
}
