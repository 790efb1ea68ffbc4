import { scripts } from './redis.ts'
import type { Mutant } from './world.ts'

/** Faults that the exploration must find. Each is put around the real code. */
export const mutants: Record<string, Mutant> = {
  'no lease': {
    scripts: {
      fillState: (store, entryKey, leaseKey, lease, ...rest) => {
        store.set(leaseKey, lease, 1)
        return scripts.fillState(store, entryKey, leaseKey, lease, ...rest)
      },
    },
  },
  'no run id': {
    redis: (redis) => ({ ...redis, info: async () => (await redis.info()).replace(/run_id:\w+/, 'run_id:always') }),
  },
  'the answer before the write': {
    invalidator: ({ invalidate }) => ({ invalidate: async (state) => void invalidate(state) }),
  },
  'a version compared wrongly': {
    scripts: {
      putState: (store, entryKey, leaseKey, entry) => {
        store.delete(leaseKey)
        if (store.get(entryKey) !== undefined) store.setKeepingTtl(entryKey, entry)
        return 1
      },
    },
  },
  'a retry that forgets': {
    cache: (cache) => {
      const tried = new Set<number>()
      const put: typeof cache.put = async (state) => {
        if (tried.has(state.version)) return
        tried.add(state.version)
        await cache.put(state)
      }
      return { ...cache, put }
    },
  },
  'a clock at twice the speed': { clock: ({ now }) => ({ now: () => now() * 2 }) },
  'a promoted replica without a wait': { cache: (cache) => ({ ...cache, settlesInMs: () => 0 }) },
  'a fill whatever cache the source writes': {
    load: (load) => async (userIds) => ({ states: (await load(userIds)).states }),
  },
}
