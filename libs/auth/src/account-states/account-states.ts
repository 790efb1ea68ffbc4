import type { AccountState } from '@gatehouse/contracts'
import { StoreUnavailable, type StateStore } from './store.ts'

export type AccountStates = {
  /**
   * The state of an account as of now; undefined when there is no such account. Rejects with what `load` rejects with
   * when neither the cache nor the truth answers.
   */
  find(userId: string): Promise<AccountState | undefined>
}

type Load = (userIds: readonly string[]) => Promise<readonly AccountState[]>

/** The most accounts in one question to the truth. */
const questionSize = 1_000

/**
 * Looks into the cache first and asks the truth on a miss, once for any number of waiters. `load` reads the truth for
 * at most 1,000 accounts; unknown ones are missing from its answer. Design: invariant 1.
 */
export function createAccountStates({ store, load }: { store: StateStore; load: Load }): AccountStates {
  const loadOne = gatherQuestions(async (userIds) => {
    const leases = await Promise.all(userIds.map((userId) => orUndefined(store.lease(userId))))
    const leaseOf = new Map(userIds.map((userId, index) => [userId, leases[index]]))
    const states = await load(userIds)
    const fills = states.map(async (state) => {
      const lease = leaseOf.get(state.userId)
      if (lease !== undefined) await orUndefined(store.fill(state, lease))
    })
    await Promise.all(fills)
    return states
  })

  return {
    find: async (userId) => {
      try {
        const known = await store.find(userId)
        if (known) return known
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
      }
      return await loadOne(userId)
    },
  }
}

type Gathering = { userIds: Set<string>; answer: Promise<Map<string, AccountState>> }

/**
 * Makes one request of many questions: those that come while one is under way wait for the next, which starts when
 * that has ended. So nobody gets an answer that is older than their question, however many ask.
 */
function gatherQuestions(load: Load): (userId: string) => Promise<AccountState | undefined> {
  let gathering: Gathering | undefined
  let underWay: Promise<unknown> = Promise.resolve()

  function startGathering(): Gathering {
    const userIds = new Set<string>()
    const answer = underWay.then(async () => {
      gathering = undefined
      const answers = await Promise.all(chunksOf([...userIds]).map(load))
      return new Map(answers.flat().map((state) => [state.userId, state]))
    })
    underWay = answer.catch(() => undefined)
    return { userIds, answer }
  }

  return async (userId) => {
    gathering ??= startGathering()
    gathering.userIds.add(userId)
    const { answer } = gathering
    return (await answer).get(userId)
  }
}

function chunksOf(userIds: readonly string[]): string[][] {
  const count = Math.ceil(userIds.length / questionSize)
  return Array.from({ length: count }, (_, index) => userIds.slice(index * questionSize, (index + 1) * questionSize))
}

/** The cache being away is no fault of the question: go on without it. */
async function orUndefined<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof StoreUnavailable) return undefined
    throw error
  }
}
