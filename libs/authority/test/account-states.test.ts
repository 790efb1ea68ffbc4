import { expect } from 'chai'
import { buildAccountState as buildState } from '@gatehouse/test-kit'
import { movableClock } from '@gatehouse/test-kit/time'
import { type AccountStateCache, CacheUnavailable, createAccountStates, createMemoryCache } from '../src/index.ts'

const away = async (): Promise<never> => {
  throw new CacheUnavailable('away')
}
const unavailableCache: AccountStateCache = {
  ...createMemoryCache(movableClock()),
  find: away,
  lease: away,
  fill: away,
  put: away,
}

describe('finding the state of an account', () => {
  it('loads once for any number of callers, then reads the cache', async () => {
    const loads: (readonly string[])[] = []
    const states = createAccountStates({
      cache: createMemoryCache(movableClock()),
      load: async (userIds) => {
        loads.push(userIds)
        return { states: userIds.map((userId) => buildState({ userId })) }
      },
    })

    await Promise.all(Array.from({ length: 50 }, (_, index) => states.find(String(index % 5))))
    await states.find('3')

    expect(loads).to.deep.equal([['0', '1', '2', '3', '4']])
  })

  it('loads at each call without a cache, for any number of callers at once', async () => {
    const loads: (readonly string[])[] = []
    const states = createAccountStates({
      load: async (userIds) => {
        loads.push(userIds)
        return { states: userIds.map((userId) => buildState({ userId })) }
      },
    })

    await Promise.all(Array.from({ length: 50 }, (_, index) => states.find(String(index % 2))))
    await states.find('1')

    expect(loads).to.deep.equal([['0', '1'], ['1']])
  })

  it('gives no caller a state whose load began before the call', async () => {
    let version = 1
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => (release = resolve))
    const states = createAccountStates({
      cache: unavailableCache,
      load: async () => {
        const read = [buildState({ version })]
        await held
        return { states: read }
      },
    })
    const early = states.find('42')
    await new Promise(setImmediate)
    version = 2
    const late = states.find('42')
    release()

    expect((await early)?.version).to.equal(1)
    expect((await late)?.version).to.equal(2)
  })

  it('stores nothing in another cache than the one that the source writes', async () => {
    const cache = createMemoryCache(movableClock())
    let cacheId = 'another'
    const states = createAccountStates({ cache, load: async () => ({ states: [buildState()], cacheId }) })

    expect((await states.find('42'))?.version).to.equal(1)
    expect(await cache.find('42')).to.equal(undefined)
    cacheId = 'memory'
    await states.find('42')
    expect((await cache.find('42'))?.version).to.equal(1)
  })

  it('splits a load that is too large for one request', async () => {
    const sizes: number[] = []
    const states = createAccountStates({
      cache: unavailableCache,
      load: async (userIds) => {
        sizes.push(userIds.length)
        return { states: userIds.map((userId) => buildState({ userId })) }
      },
    })

    const found = await Promise.all(Array.from({ length: 2_500 }, (_, index) => states.find(String(index))))

    expect(sizes).to.deep.equal([1_000, 1_000, 500])
    expect(found.map((state) => state?.userId)).to.deep.equal(Array.from({ length: 2_500 }, (_, i) => String(i)))
  })

  it('rejects when neither the cache nor the source answers, and recovers', async () => {
    let answers = false
    const states = createAccountStates({
      cache: unavailableCache,
      load: async () => {
        if (!answers) throw new Error('identity is away')
        return { states: [] }
      },
    })

    const failure = await states.find('42').catch((error: unknown) => error)
    answers = true

    expect(String(failure)).to.include('identity is away')
    expect(await states.find('42')).to.equal(undefined)
  })
})
