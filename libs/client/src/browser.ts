import { createClient, type Client, type ClientOptions } from './client.ts'
import type { AnyLive, LiveTypes } from './live/frames.ts'
import { memoryStorage, type KeyValueStorage } from './platform.ts'

export function createBrowserClient<App extends LiveTypes = AnyLive>(
  overrides: Partial<ClientOptions> = {},
): Client<App> {
  const client = createClient<App>({
    origin: location.origin,
    storage: browserStorage(),
    watchStorage: (changed) => {
      // A page in the back/forward cache gets no events of the storage.
      const listener = ({ key = null, persisted = true }: Partial<StorageEvent & PageTransitionEvent>) =>
        void (persisted && changed(key))
      return listen(['storage', 'pageshow'], listener)
    },
    watchActivity: (active) => listen(['pointerdown', 'keydown'], active),
    runAlone,
    ...overrides,
  })
  const reconnect = () => {
    // Null: there are too many connections, and one more would close another.
    if (client.live.getSnapshot().retryAt !== null) client.live.retryNow()
    void client.session.loadUser()
  }
  const stopReconnecting = listen(['online'], reconnect)
  return {
    ...client,
    close: () => {
      stopReconnecting()
      client.close()
    },
  }
}

/** Returns a function that ends it. */
function listen(events: string[], listener: (event: Event) => void): () => void {
  for (const event of events) addEventListener(event, listener, { passive: true })
  return () => events.forEach((event) => removeEventListener(event, listener))
}

/** Insecure origins have no locks: their tabs may renew the session that they share more than once. */
async function runAlone(run: () => Promise<void>, name: string): Promise<void> {
  const { locks } = navigator as Partial<Pick<Navigator, 'locks'>>
  if (!locks) return await run()
  await locks.request(`gatehouse-renewal ${name}`, { ifAvailable: true }, (lock) => (lock ? run() : undefined))
}

/** In memory if the storage is forbidden or full. */
function browserStorage(): KeyValueStorage {
  const memory = memoryStorage()
  const attempt = <T>(access: () => T): T | null => {
    try {
      return access()
    } catch {
      return null
    }
  }
  return {
    getItem: (key) => memory.getItem(key) ?? attempt(() => localStorage.getItem(key)),
    setItem: (key, value) => {
      memory.setItem(key, value)
      attempt(() => {
        localStorage.setItem(key, value)
        memory.removeItem(key)
      })
    },
    removeItem: (key) => {
      memory.removeItem(key)
      attempt(() => localStorage.removeItem(key))
    },
  }
}
