import { buildAccountState, capturedLog } from '@gatehouse/test-kit'
import { movableClock } from '@gatehouse/test-kit/time'
import {
  type AccountStateCache,
  CacheUnavailable,
  cacheTimes,
  createCacheInvalidator,
  createMemoryCache,
} from '../src/index.ts'
import { expect } from 'chai'

const clock = movableClock()
const changed = buildAccountState({ version: 2, passwordChangedAt: 1 })

function unavailableCache(): AccountStateCache & { puts: number } {
  const cache = createMemoryCache(clock)
  const unavailable = {
    ...cache,
    puts: 0,
    put: async () => {
      unavailable.puts += 1
      throw new CacheUnavailable('away')
    },
  }
  return unavailable
}

describe('cache invalidation', () => {
  const { log, lines } = capturedLog()

  it('replaces the cached state', async () => {
    const cache = createMemoryCache(clock)
    await cache.fill(buildAccountState(), await cache.lease(changed.userId))

    await createCacheInvalidator({ cache, clock, log }).invalidate(changed)

    expect(await cache.find(changed.userId)).to.include({ version: 2 })
  })

  it('is retried until the cache answers', async () => {
    const cache = unavailableCache()
    const failingPut = cache.put
    cache.put = async (state) => {
      if (cache.puts < 2) return await failingPut(state)
    }

    await createCacheInvalidator({ cache, clock, log }).invalidate(changed)

    expect(cache.puts).to.equal(2)
  })

  it('resolves after older entries have expired when the cache does not answer, and not before', async () => {
    const cache = unavailableCache()
    let resolved = false
    const invalidated = createCacheInvalidator({ cache, clock, log })
      .invalidate(changed)
      .then(() => (resolved = true))

    clock.advance(cacheTimes.staleMs - 1)
    const putsBefore = cache.puts
    while (cache.puts < putsBefore + 2) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(resolved).to.equal(false)
    clock.advance(1)
    await invalidated

    expect(lines.at(-1)).to.include({ userId: changed.userId, version: 2 })
  })
})
