import type { Client, ClientOptions } from './client-parts.ts'
import { createClient } from './client.ts'
import type { ClientClock, Jitter, KeyValueStorage, Socket } from './ports.ts'

/** The clock of a browser: monotonic, so that a changed system time moves no countdown. */
export const browserClock: ClientClock = {
  now: () => performance.now(),
  setTimeout: (run, ms) => setTimeout(run, ms),
  clearTimeout: (timer) => clearTimeout(timer as number | undefined),
}

const browserJitter: Jitter = () => (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) / 2 ** 32

/** A client of the instance the page came from; any of the surroundings may be replaced. */
export function createBrowserClient(overrides: Partial<ClientOptions> = {}): Client {
  const client = createClient({
    origin: location.origin,
    storage: browserStorage(),
    fetch: (url, init) => fetch(url, init),
    openSocket: (url) => new WebSocket(url) as Socket,
    clock: browserClock,
    jitter: browserJitter,
    watchStorage: (changed) => {
      const listener = ({ key }: StorageEvent) => changed(key)
      addEventListener('storage', listener)
      return () => removeEventListener('storage', listener)
    },
    ...overrides,
  })
  const wake = () => client.live.retryNow()
  addEventListener('online', wake)
  return {
    ...client,
    close: () => {
      removeEventListener('online', wake)
      client.close()
    },
  }
}

/** The local storage; in memory where the browser forbids it or it is full, so that the page works all the same. */
function browserStorage(): KeyValueStorage {
  const memory = new Map<string, string>()
  const attempt = <T>(act: () => T): T | null => {
    try {
      return act()
    } catch {
      return null
    }
  }
  return {
    getItem: (key) => memory.get(key) ?? attempt(() => localStorage.getItem(key)),
    setItem: (key, value) => {
      const stored = attempt(() => {
        localStorage.setItem(key, value)
        return true
      })
      if (stored) memory.delete(key)
      else memory.set(key, value)
    },
    removeItem: (key) => {
      memory.delete(key)
      attempt(() => localStorage.removeItem(key))
    },
  }
}
