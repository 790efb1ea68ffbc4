import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { systemClock } from './platform.ts'

describe('the clock of the platform', () => {
  it('fires no timer early that is longer than a platform can count', async () => {
    let fired = 0
    const timers = [2 ** 31, Infinity].map((ms) => systemClock.setTimeout(() => (fired += 1), ms))
    await sleep(20)
    timers.forEach(systemClock.clearTimeout)

    expect(fired).to.equal(0)
  })
})
