import { expect } from 'chai'
import type { RateLimiterRes } from 'rate-limiter-flexible'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { createPortionedCounter, portionOf } from './portioned-counter.ts'

describe('A limit that is counted in portions', () => {
  /** The store that several processes share, and the commands that it got. */
  function sharedStore(points: number) {
    const limiter = new RateLimiterMemory({ points, duration: 60 })
    let commands = 0
    const take = async (key: string, count: number) => {
      commands += 1
      return await limiter.consume(key, count).catch((exceeded: unknown) => exceeded as RateLimiterRes)
    }
    return { take, commands: () => commands }
  }

  it('takes one command for a portion, also when its requests come at once, and ends exactly at the limit', async () => {
    const { take, commands } = sharedStore(300)
    const count = createPortionedCounter(300, take)

    const states = await Promise.all(Array.from({ length: 310 }, () => count('a')))

    const consumed = states.map((state) => state!.consumedPoints).sort((one, other) => one - other)
    expect(consumed).to.deep.equal(Array.from({ length: 310 }, (_, index) => index + 1))
    expect(states[0]).to.include({ consumedPoints: 1, remainingPoints: 299 })
    expect(commands()).to.equal(31)
  })

  it('lets several processes together never exceed it, nor hold back a portion each', async () => {
    const { take } = sharedStore(300)
    const processes = [createPortionedCounter(300, take), createPortionedCounter(300, take)]

    let allowed = 0
    for (let index = 0; index < 400; index += 1) {
      const state = await processes[index % 3 === 0 ? 0 : 1]!('a')
      if (state!.consumedPoints <= 300) allowed += 1
    }

    expect(allowed).to.be.within(300 - 9, 300)
  })

  it('counts low limits one by one, and says so when the store is unavailable', async () => {
    expect([1, 5, 30, 59, 300, 307, 1_000_000].map(portionOf)).to.deep.equal([1, 1, 1, 1, 10, 1, 50])
    expect(await createPortionedCounter(300, async () => undefined)('a')).to.equal(undefined)
  })
})
