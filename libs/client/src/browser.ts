import { createClient, type Client, type ClientOptions } from './client.ts'
import { browserClock, type Jitter, type KeyValueStorage, type Socket } from './platform.ts'

// eslint-disable-next-line no-restricted-properties -- the dependency itself, as a browser gives it
const browserJitter: Jitter = () => (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) / 2 ** 32

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
  const reconnect = () => {
    client.live.retryNow()
    void client.session.loadUser()
  }
  addEventListener('online', reconnect)
  return {
    ...client,
    close: () => {
      removeEventListener('online', reconnect)
      client.close()
    },
  }
}

/** In memory if the storage is forbidden or full. */
function browserStorage(): KeyValueStorage {
  const memory = new Map<string, string>()
  const attempt = <T>(access: () => T): T | null => {
    try {
      return access()
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
