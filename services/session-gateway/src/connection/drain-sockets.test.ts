import { closures } from '@gatehouse/contracts'
import { manualTimer, type ManualTimer } from '@gatehouse/test-kit/time'
import { expect } from 'chai'
import { timings } from '../policy.ts'
import { drainSockets, OpenSockets } from './close-sockets.ts'
import type { SessionSocket } from './session-socket.ts'

describe('a drain', () => {
  it('closes 500 sockets with 1012, spread over 2 ms each', async () => {
    const drain = start(500)

    for (let elapsedMs = 20; elapsedMs < 1_000; elapsedMs += 20) {
      expect(drain.closed.length).to.be.within(elapsedMs / 2 - 10, elapsedMs / 2 + 10)
      expect(drain.closed.length).to.be.below(500)
      await drain.advance(20)
    }

    expect(drain.closed).to.have.length(500)
    expect(new Set(drain.closed)).to.deep.equal(new Set([closures.goingAway.code]))
  })

  it('closes any number within 15 s', async () => {
    const drain = start(30_000)

    await drain.advance(14_900)
    expect(drain.closed.length).to.be.within(29_000, 29_999)
    await drain.advance(100)

    expect(drain.closed).to.have.length(30_000)
  })

  it('closes a few at once, and ends when all connections are closed', async () => {
    const drain = start(10)

    expect(drain.closed).to.have.length(10)
    expect(drain.isOver()).to.equal(false)
    await drain.disconnectAll()

    expect(drain.isOver()).to.equal(true)
    expect(drain.terminated).to.equal(0)
  })

  it('terminates connections whose peer does not close within 2 s', async () => {
    const drain = start(3)

    await drain.advance(0)
    await drain.advance(1_999)
    expect(drain.terminated).to.equal(0)
    await drain.advance(1)

    expect(drain.terminated).to.equal(3)
    expect(drain.isOver()).to.equal(true)
  })

  it('is over at once without sockets', async () => {
    const drain = start(0)
    await drain.advance(0)

    expect(drain.isOver()).to.equal(true)
  })
})

function start(count: number) {
  const timer = manualTimer()
  const openSockets = new OpenSockets()
  const closed: number[] = []
  const state = { over: false, terminated: 0 }
  for (let index = 0; index < count; index += 1) {
    const socket = {
      phase: 'ready',
      resume() {},
      close: (code: number) => void closed.push(code),
      terminate: () => void (state.terminated += 1),
    }
    openSockets.add(socket as unknown as SessionSocket)
  }
  const context = { timer, timings }
  void drainSockets({ ...context, openSockets, timeouts: {}, onReleased() {} }).then(() => (state.over = true))
  return {
    closed,
    get terminated() {
      return state.terminated
    },
    isOver: () => state.over,
    advance: (ms: number) => advance(timer, ms),
    async disconnectAll() {
      for (const socket of openSockets) openSockets.delete(socket)
      await advance(timer, 0)
    },
  }
}

/** In the steps of the drain: each of its delays begins only after the one before. */
async function advance(timer: ManualTimer, ms: number): Promise<void> {
  for (let left = ms; left >= 0; left -= 20) {
    timer.advance(Math.min(20, left))
    await new Promise<void>((resolve) => void setImmediate(resolve))
    if (left === 0) break
  }
}
