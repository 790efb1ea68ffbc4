import { expect } from 'chai'
import fc from 'fast-check'
import type { SessionSocket } from '../connection/session-socket.ts'
import { policy } from '../policy.ts'
import { createSessionRegistry } from '../sessions/session-registry.ts'
import { emptyAudience } from './audience.ts'
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

        sendChanges(node.deps, changed, audience)

        for (const [recipient, socket] of node.sockets) {
          // Its socket is open, so it is not offline.
          const isOwnHidden = changed.findLast(({ userId }) => userId === recipient)?.status === 'offline'
          const seen = changed.filter(({ userId }) => {
            if (userId === recipient && isOwnHidden) return false
            return isSeen(recipient, userId, { spaces, members, linked })
          })
          expect(received(socket)).to.deep.equal(seen)
        }
      }),
    )
  })

  it('goes to a socket that watches for friends, direct messages and the users that it watches', () => {
    const id = fc.constantFrom('1', '2', '3', '4')
    const lists = fc.dictionary(id, fc.uniqueArray(id))
    const changes = fc.array(fc.record({ userId: id, status: fc.constantFrom('online' as const, 'offline' as const) }))
    fc.assert(
      fc.property(changes, lists, lists, fc.uniqueArray(id), (changed, members, linked, watched) => {
        const spacesOf = new Map(['1', '2', '3', '4'].map((userId) => [userId, ['1']]))
        const node = nodeWith('1')
        const socket = Object.assign(node.sockets.get('1')!, { watched: new Set(watched) })

        sendChanges(node.deps, changed, { spacesOf, membersOf: mapOf(members), linkedTo: mapOf(linked) })

        const isOwnHidden = changed.findLast(({ userId }) => userId === '1')?.status === 'offline'
        const seen = changed.filter(({ userId }) => {
          if (userId === '1') return !isOwnHidden
          const isWatched = watched.includes(userId) && (members['1'] ?? []).includes('1')
          return isWatched || (linked[userId]?.includes('1') ?? false)
        })
        expect(received(socket)).to.deep.equal(seen)
      }),
    )
  })

  it('is encoded once for all who see the same changes', () => {
    const node = nodeWith('1', '2', '3')
    const membersOf = new Map([['space', ['1', '2', '3']]])

    sendChanges(node.deps, [{ userId: '9', status: 'online' }], {
      spacesOf: new Map([['9', ['space']]]),
      membersOf,
      linkedTo: new Map(),
    })

    expect(new Set([...node.sockets.values()].flatMap(({ written }) => written)).size).to.equal(1)
  })

  it('of the own user goes to the connections that are ready, unless the ready of all of them tells it', () => {
    const node = nodeWith('1')
    const socket = node.sockets.get('1')!
    const audience = { ...emptyAudience, linkedTo: new Map([['2', ['1']]]) }

    for (const isIncludedInReady of [false, true]) {
      Object.assign(socket, { written: [] })
      const own = { userId: '1', status: 'online', isIncludedInReady } as const
      sendChanges(node.deps, [own, { userId: '2', status: 'online' }], audience)
      const ids = received(socket).map(({ userId }) => userId)
      expect(ids).to.deep.equal(isIncludedInReady ? ['2'] : ['1', '2'])
    }
  })

  it('of the own user goes to the own connections where no space leads to them', () => {
    const node = nodeWith('1')
    const audience = { ...emptyAudience, spacesOf: new Map([['1', ['10']]]), membersOf: new Map([['10', ['5']]]) }

    sendChanges(node.deps, [{ userId: '1', status: 'offline' }], audience)
    sendChanges(node.deps, [{ userId: '1', status: 'online' }], audience)

    // Another node took this one for dead.
    expect(received(node.sockets.get('1')!)).to.deep.equal([{ userId: '1', status: 'online' }])
  })

  it('waits for the ready of a socket in its handshake', () => {
    const node = nodeWith('1')
    const socket = Object.assign(node.sockets.get('1')!, { phase: 'authenticating' as const })

    sendChanges(node.deps, [{ userId: '2', status: 'online' }], { ...emptyAudience, linkedTo: new Map([['2', ['1']]]) })

    expect(received(socket)).to.deep.equal([])
    expect(framesIn(Buffer.concat(socket.backlog ?? []))).to.deep.equal([{ userId: '2', status: 'online' }])
  })

  it('ends a socket in its handshake for which too much waits', () => {
    const node = nodeWith('1')
    let terminated = 0
    const terminate = () => void (terminated += 1)
    const socket = Object.assign(node.sockets.get('1')!, { phase: 'authenticating' as const, terminate })
    const send = () =>
      sendChanges(node.deps, [{ userId: '2', status: 'online' }], {
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

  it('terminates a reader for whom too much waits, and reaches the others', () => {
    const { sockets, deps } = nodeWith('slow', 'quick')
    const [slow, quick] = [sockets.get('slow')!, sockets.get('quick')!]
    let terminated = 0
    Object.assign(slow, { bufferedAmount: policy.sendBufferBytes + 1, terminate: () => (terminated += 1) })
    const linkedTo = mapOf({ friend: ['slow', 'quick'] })

    sendChanges(deps, [{ userId: 'friend', status: 'online' }], { ...emptyAudience, linkedTo })

    expect([terminated, received(slow)]).to.deep.equal([1, []])
    expect(received(quick)).to.deep.equal([{ userId: 'friend', status: 'online' }])
  })
})

type Seen = { userId: string; status: 'online' | 'offline' }
type Lists = Record<string, string[]>
type FakeSocket = SessionSocket & { written: Buffer[] }

const mapOf = (lists: Lists) => new Map(Object.entries(lists))

function isSeen(
  recipient: string,
  userId: string,
  { spaces, members, linked }: { spaces: Lists; members: Lists; linked: Lists },
): boolean {
  const ofUser = spaces[userId] ?? []
  const inSpace = ofUser.some((space) => members[space]?.includes(recipient))
  return inSpace || recipient === userId || (linked[userId]?.includes(recipient) ?? false)
}

/** Users with one ready socket each. */
function nodeWith(...userIds: string[]) {
  const sessions = createSessionRegistry()
  const sockets = new Map<string, FakeSocket>()
  for (const userId of userIds) {
    const socket = { phase: 'ready', readyState: 1, OPEN: 1, bufferedAmount: 0, unsentReadyBytes: 0, backlogBytes: 0 }
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
