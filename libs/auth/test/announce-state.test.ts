import { expect } from 'chai'
import { createLocalBus } from '@gatehouse/bus'
import { movableClock } from '@gatehouse/runtime'
import { storeAccountState } from '@gatehouse/contracts'
import { capturedLog } from '@gatehouse/test-kit'
import { StoreUnavailable, cacheTimes, type StateStore } from '../src/account-states/store.ts'
import { createMemoryStore } from '../src/account-states/memory-store.ts'
import { createStateAnnouncer } from '../src/account-states/announce-state.ts'
import { buildState } from './places.ts'

const clock = movableClock()
const changed = buildState({ version: 2, passwordChangedAt: 1 })

function brokenStore(): StateStore & { asked: number } {
  const store = createMemoryStore(clock)
  const broken = {
    ...store,
    asked: 0,
    put: async () => {
      broken.asked += 1
      throw new StoreUnavailable('away')
    },
  }
  return broken
}

describe('announcing a changed account', () => {
  const { log, lines } = capturedLog()

  it('tells the cache itself when it can', async () => {
    await using bus = createLocalBus({ log })
    const store = createMemoryStore(clock)
    await store.fill(buildState(), await store.lease('42'))

    await createStateAnnouncer({ store, bus, clock, log }).announce(changed)

    expect(await store.find('42')).to.include({ version: 2 })
  })

  it('has another process tell it when that one can', async () => {
    await using bus = createLocalBus({ log })
    const reachable = createMemoryStore(clock)
    await reachable.fill(buildState(), await reachable.lease('42'))
    await bus.answer(storeAccountState, async (state) => {
      await reachable.put(state)
      return {}
    })

    await createStateAnnouncer({ store: brokenStore(), bus, clock, log }).announce(changed)

    expect(await reachable.find('42')).to.include({ version: 2 })
  })

  it('tries again until the cache is back', async () => {
    await using bus = createLocalBus({ log })
    const store = brokenStore()
    const away = store.put
    store.put = async (state) => {
      if (store.asked < 2) return await away(state)
    }

    await createStateAnnouncer({ store, bus, clock, log }).announce(changed)

    expect(store.asked).to.equal(2)
  })

  it('answers after older entries have expired when nobody can tell the cache, and not before', async () => {
    await using bus = createLocalBus({ log })
    const store = brokenStore()
    let answered = false
    const announced = createStateAnnouncer({ store, bus, clock, log })
      .announce(changed)
      .then(() => (answered = true))

    clock.advance(cacheTimes.staleMs - 1)
    const askedEarly = store.asked
    while (store.asked < askedEarly + 2) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(answered).to.equal(false)
    clock.advance(1)
    await announced

    expect(lines.at(-1)).to.include({ userId: '42', version: 2 })
  })
})
