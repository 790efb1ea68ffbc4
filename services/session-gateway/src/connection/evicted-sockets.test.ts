import { capturedLog } from '@gatehouse/test-kit'
import { manualTimer } from '@gatehouse/test-kit/time'
import { expect } from 'chai'
import { timings } from '../policy.ts'
import { createEvictedSockets, OpenSockets } from './close-sockets.ts'
import type { SessionSocket } from './session-socket.ts'

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
    expect(node.sent).to.deep.equal([{ type: 'error', message: 'Server is restarting', code: 'going_away' }])
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
  const closed: number[] = []
  const sent: unknown[] = []
  const context = { timer, timings, log: capturedLog().log }
  const closing = createEvictedSockets({ ...context, openSockets, timeouts: {}, onReleased() {} })
  return {
    closing,
    closed,
    /** Before the closes. */
    sent,
    registerAnew: () => closing.close(),
    open(phase: SessionSocket['phase']): SessionSocket {
      const session = phase === 'unauthenticated' ? undefined : {}
      const send = (message: Buffer) => void sent.push(JSON.parse(message.toString()))
      const fake = { phase, session, send, resume() {}, close: (code: number) => void closed.push(code) }
      const socket = fake as unknown as SessionSocket
      openSockets.add(socket)
      return socket
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
