import { expect } from 'chai'
import { movableClock } from '@gatehouse/runtime'
import { StoreUnavailable, type StateStore } from '../src/account-states/store.ts'
import { createAccountStates } from '../src/account-states/account-states.ts'
import { createMemoryStore } from '../src/account-states/memory-store.ts'
import { buildState } from './places.ts'

const away = async (): Promise<never> => {
  throw new StoreUnavailable('away')
}
const storeThatIsAway: StateStore = {
  ...createMemoryStore(movableClock()),
  find: away,
  lease: away,
  fill: away,
  put: away,
}

describe('finding the state of an account', () => {
  it('asks the truth once for any number of waiters, then the cache', async () => {
    const questions: (readonly string[])[] = []
    const states = createAccountStates({
      store: createMemoryStore(movableClock()),
      load: async (userIds) => {
        questions.push(userIds)
        return userIds.map((userId) => buildState({ userId }))
      },
    })

    await Promise.all(Array.from({ length: 50 }, (_, index) => states.find(String(index % 5))))
    await states.find('3')

    expect(questions).to.deep.equal([['0', '1', '2', '3', '4']])
  })

  it('gives nobody an answer that was asked for before their question', async () => {
    let version = 1
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => (release = resolve))
    const states = createAccountStates({
      store: storeThatIsAway,
      load: async () => {
        const read = [buildState({ version })]
        await held
        return read
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

  it('splits what one request could not hold', async () => {
    const sizes: number[] = []
    const states = createAccountStates({
      store: storeThatIsAway,
      load: async (userIds) => {
        sizes.push(userIds.length)
        return userIds.map((userId) => buildState({ userId }))
      },
    })

    const found = await Promise.all(Array.from({ length: 2_500 }, (_, index) => states.find(String(index))))

    expect(sizes).to.deep.equal([1_000, 1_000, 500])
    expect(found.map((state) => state?.userId)).to.deep.equal(Array.from({ length: 2_500 }, (_, i) => String(i)))
  })

  it('says that it does not know when neither the cache nor the truth answers, and recovers', async () => {
    let answers = false
    const states = createAccountStates({
      store: storeThatIsAway,
      load: async () => {
        if (!answers) throw new Error('identity is away')
        return []
      },
    })

    const failure = await states.find('42').catch((error: unknown) => error)
    answers = true

    expect(String(failure)).to.include('identity is away')
    expect(await states.find('42')).to.equal(undefined)
  })
})
