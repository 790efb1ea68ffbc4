import { manualTimer } from '@gatehouse/runtime'
import { capturedLog } from '@gatehouse/test-kit'
import { expect } from 'chai'
import type { Deps } from '../deps.ts'
import { timings } from '../policy.ts'
import { SessionRegistry } from '../sessions/session-registry.ts'
import { OpenSockets } from '../socket/open-sockets.ts'
import type { SessionSocket } from '../socket/session-socket.ts'
import { createSocketTimeouts } from '../socket/socket-timeouts.ts'
import { closeEvictedSockets } from './close-evicted-sockets.ts'

describe('the sockets of a node that was evicted while it ran', () => {
  it('close with 1012 as in a drain, those of its handshakes too; those that open later stay', async () => {
    const node = openNode()
    for (let index = 0; index < 99; index += 1) node.open('ready')
    node.open('authenticating')
    const silent = node.open('unauthenticated')

    node.registerAnew()
    const later = [node.open('ready'), node.open('authenticating')]
    expect(node.closed).to.have.length(10)
    await node.advance(180)

    expect(node.closed).to.deep.equal(Array(100).fill(1012))
    expect([silent, ...later].map(({ phase }) => phase)).to.deep.equal(['unauthenticated', 'ready', 'authenticating'])
  })

  it('close in one sequence although it is evicted again meanwhile', async () => {
    const node = openNode()
    for (let index = 0; index < 100; index += 1) node.open('ready')

    node.registerAnew()
    node.registerAnew()
    await node.advance(20)

    expect(node.closed.length).to.be.within(20, 30)
  })

  it('do not close any more once the service stops, nor when it is evicted then', async () => {
    const node = openNode()
    for (let index = 0; index < 100; index += 1) node.open('ready')

    node.registerAnew()
    node.closing[Symbol.dispose]()
    node.registerAnew()
    await node.advance(1_000)

    expect(node.closed).to.have.length(10)
  })
})

function openNode() {
  const timer = manualTimer()
  const openSockets = new OpenSockets()
  const sessions = new SessionRegistry()
  const closed: number[] = []
  let registerAnew = () => undefined as void
  const presence = { userDisconnected() {}, onReRegistered: (follow: () => void) => (registerAnew = follow) }
  const context = { timer, timings, log: capturedLog().log }
  const timeouts = createSocketTimeouts(context)
  const deps = { ...context, openSockets, sessions, timeouts, presence: presence as unknown as Deps['presence'] }
  return {
    closing: closeEvictedSockets(deps),
    closed,
    registerAnew: () => registerAnew(),
    open(phase: SessionSocket['phase']): SessionSocket {
      const fake = { phase, resume() {}, close: (code: number) => void closed.push(code) }
      const socket = fake as unknown as SessionSocket
      openSockets.add(socket)
      return phase === 'unauthenticated' ? socket : sessions.add(socket, String(closed.length))
    },
    /** In the steps of the closing: each of its delays begins only after the one before. */
    async advance(ms: number): Promise<void> {
      for (let elapsedMs = 0; elapsedMs < ms; elapsedMs += 20) {
        await new Promise<void>((resolve) => void setImmediate(resolve))
        timer.advance(20)
      }
      await new Promise<void>((resolve) => void setImmediate(resolve))
    },
  }
}
