import type { AccountState } from '@gatehouse/contracts'
import type { Clock } from '@gatehouse/runtime'
import { cacheTimes, type StateStore } from './store.ts'

type Entry = { state: AccountState; expiresAt: number }
type Lease = { id: string; expiresAt: number }

/** The cache of the embedded instance: one process, no network, the same rules. */
export function createMemoryStore(clock: Clock): StateStore {
  const entries = new Map<string, Entry>()
  const leases = new Map<string, Lease>()
  let leasesMade = 0

  return {
    find: async (userId) => liveOf(entries, userId, clock)?.state,
    lease: async (userId) => {
      const held = liveOf(leases, userId, clock)
      if (held) return held.id
      leasesMade += 1
      const lease = { id: String(leasesMade), expiresAt: clock.now() + cacheTimes.leaseMs }
      insert(leases, userId, lease, clock)
      return lease.id
    },
    fill: async (state, lease) => {
      if (liveOf(leases, state.userId, clock)?.id !== lease) return
      const known = liveOf(entries, state.userId, clock)
      if (known && known.state.version >= state.version) return
      insert(entries, state.userId, { state, expiresAt: clock.now() + cacheTimes.entryMs }, clock)
    },
    put: async (state) => {
      leases.delete(state.userId)
      const known = liveOf(entries, state.userId, clock)
      if (known && known.state.version < state.version) known.state = state
    },
    ready: () => true,
    [Symbol.asyncDispose]: async () => {
      entries.clear()
      leases.clear()
    },
  }
}

type Expiring = { expiresAt: number }

function liveOf<T extends Expiring>(map: ReadonlyMap<string, T>, userId: string, clock: Clock): T | undefined {
  const found = map.get(userId)
  return found && found.expiresAt > clock.now() ? found : undefined
}

/** Maps keep the order of insertion, which is the order of expiry here: what has expired stands at the front. */
function insert<T extends Expiring>(map: Map<string, T>, userId: string, value: T, clock: Clock): void {
  map.delete(userId)
  map.set(userId, value)
  for (const [key, { expiresAt }] of map) {
    if (expiresAt > clock.now()) return
    map.delete(key)
  }
}
