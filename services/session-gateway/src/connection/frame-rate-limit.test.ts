import { manualTimer, movableClock } from '@gatehouse/test-kit/time'
import { expect } from 'chai'
import { createTimeoutSet } from '../timeout-set.ts'
import { countFrame, resumeWithinLimit } from './socket-timeouts.ts'
import type { SessionSocket } from './session-socket.ts'

describe('the limit of frames', () => {
  it('reads 300 a second, and not one more until the next', () => {
    const limited = start()

    expect(limited.count(300)).to.equal(true)
    expect(limited.socket.isPaused).to.equal(false)
    expect(limited.count(1)).to.equal(false)
    expect(limited.socket.isPaused).to.equal(true)
    limited.pass(1_000)

    expect(limited.socket.isPaused).to.equal(false)
    expect(limited.count(299)).to.equal(true)
    expect(limited.count(1)).to.equal(false)
  })

  it('reads on only when everything is worked off that came in one read', () => {
    const limited = start()

    limited.count(3_000)

    for (let second = 1; second < 9; second += 1) {
      limited.pass(1_000)
      expect(limited.socket.isPaused, `after ${second} s`).to.equal(true)
    }
    limited.pass(1_000)
    expect(limited.socket.isPaused).to.equal(false)
  })

  it('counts bytes: 16 KiB are nine frames', () => {
    const limited = start()

    expect(limited.count(33, 16_384)).to.equal(true)
    expect(limited.count(1, 16_384)).to.equal(false)
  })

  it('stays when the clock goes backwards', () => {
    const limited = start()
    limited.count(200)

    limited.clock.advance(-3_600_000)

    expect(limited.count(100)).to.equal(true)
    expect(limited.count(1)).to.equal(false)
  })

  it('after a close lets ten frames pass and then reads no more, however long it takes', () => {
    const limited = start('closing')

    limited.count(10)
    expect(limited.socket.isPaused).to.equal(false)
    limited.count(1)
    expect(limited.socket.isPaused).to.equal(true)
    limited.pass(60_000)

    expect(limited.socket.isPaused).to.equal(true)
  })
})

function start(phase: SessionSocket['phase'] = 'ready') {
  const timer = manualTimer()
  const clock = movableClock(1_800_000_000_000)
  const fake = {
    phase,
    frames: 0,
    framesCountedAtSecond: 0,
    isPaused: false,
    pause: () => void (fake.isPaused = true),
    resume: () => void (fake.isPaused = false),
  }
  const socket = fake as unknown as SessionSocket
  const paused = createTimeoutSet<SessionSocket>(1_000, timer, (each) => resumeWithinLimit(deps, each))
  const deps = { clock, timeouts: { paused } } as unknown as Parameters<typeof countFrame>[0]
  return {
    socket,
    clock,
    /** Counts frames; gives what the last one got. */
    count(frames: number, bytes = 0): boolean {
      let isWithin = false
      for (let frame = 0; frame < frames; frame += 1) isWithin = countFrame(deps, socket, bytes)
      return isWithin
    },
    pass(ms: number): void {
      clock.advance(ms)
      timer.advance(ms)
    },
  }
}
