import fc from 'fast-check'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import { testRedis } from '@gatehouse/test-kit'
import { movableClock } from '@gatehouse/test-kit/time'
import { defineScripts } from '../../libs/authority/src/redis/redis-scripts.ts'
import { scripts, storeOf } from './redis.ts'

const lease = fc.constantFrom('a', 'b', 'c', 'd one', 'e one', 'f two')
const mark = fc.constantFrom('', ' one', ' two')
const wasPromoted = fc.constantFrom(0 as const, 1 as const)
const step = fc.oneof(
  fc.record({ kind: fc.constant('lease' as const), lease }),
  fc.record({ kind: fc.constant('fill' as const), lease, version: fc.nat(12), mark }),
  fc.record({ kind: fc.constant('put' as const), version: fc.nat(12), mark }),
  fc.record({ kind: fc.constant('used' as const), runId: fc.constantFrom('one', 'two'), wasPromoted }),
  fc.record({ kind: fc.constant('elapse' as const), ms: fc.constantFrom(500, 2_000, 6_000, 10_000) }),
)

/** As waiting would. */
async function shorten(redis: Redis, key: string, ms: number): Promise<void> {
  const left = await redis.pttl(key)
  if (left >= 0) await (left <= ms ? redis.del(key) : redis.pexpire(key, left - ms))
}

/** The simulation is worth what its Redis is worth. */
describe('the simulated Redis', () => {
  it('answers as a real one, in any order of commands and time', async () => {
    await using server = await testRedis()
    const side = new Redis(server.url)
    const real = defineScripts(side)
    let runs = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        const [prefix, clock, data] = [`${server.prefix}${(runs += 1)}:`, movableClock(), new Map()]
        const [entry, lease, used] = [`${prefix}entry`, `${prefix}lease`, `${prefix}process`]
        const model = storeOf({ data }, clock.now)
        for (const one of steps) {
          if (one.kind === 'lease') {
            const taken = await real.takeLease(lease, one.lease, 2_000)
            expect(scripts.takeLease(model, lease, one.lease, 2_000)).to.equal(taken)
          }
          if (one.kind === 'fill') {
            const args = [entry, lease, one.lease, `${one.version}${one.mark}|filled`, 10_000] as const
            expect(scripts.fillState(model, ...args)).to.equal(await real.fillState(...args))
          }
          if (one.kind === 'put') {
            const args = [entry, lease, `${one.version}${one.mark}|put`] as const
            expect(scripts.putState(model, ...args)).to.equal(await real.putState(...args))
          }
          if (one.kind === 'used') {
            // Since 1970 where it replaced none; the real clock went on for some milliseconds.
            const args = [used, one.runId, one.wasPromoted] as const
            const [here, there] = [scripts.usedForMs(model, ...args), await real.usedForMs(...args)]
            expect(here > 1e12).to.equal(there > 1e12)
          }
          if (one.kind === 'elapse') {
            for (const key of [entry, lease]) await shorten(side, key, one.ms)
            clock.advance(one.ms)
          }
          const keys = [entry, lease]
          expect(keys.map((key) => model.get(key) ?? null)).to.deep.equal(await side.mget(keys))
        }
      }),
      { numRuns: 100 },
    )
    side.disconnect()
  })
})
