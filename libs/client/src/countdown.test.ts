import { expect } from 'chai'
import { createFakeClock } from '../test/fake-clock.ts'
import { createCountdown } from './countdown.ts'

describe('the countdown of a rate limit', () => {
  it('counts whole seconds down to 0 and then stops', async () => {
    const clock = createFakeClock()
    const countdown = createCountdown(clock)
    const values: number[] = []
    countdown.subscribe(() => values.push(countdown.getSnapshot()))

    countdown.start(3)
    await clock.advance(10_000)

    expect(values).to.deep.equal([3, 2, 1, 0])
    expect(clock.pending()).to.equal(0)
  })

  it('can be restarted and stopped', async () => {
    const clock = createFakeClock()
    const countdown = createCountdown(clock)
    countdown.start(30)
    await clock.advance(5_000)

    countdown.start(10)
    expect(countdown.getSnapshot()).to.equal(10)
    countdown.stop()

    expect(countdown.getSnapshot()).to.equal(0)
    expect(clock.pending()).to.equal(0)
  })
})
