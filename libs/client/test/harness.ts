import { createClient, type ClientOptions } from '../src/client.ts'
import type { KeyValueStorage } from '../src/platform.ts'
import { buildToken, buildUser } from './builders.ts'
import { createFakeClock } from './fake-clock.ts'
import { createFakeNetwork } from './fake-network.ts'
import { createFakeSockets } from './fake-socket.ts'

export const home = 'https://home.example'
export const remote = 'https://b.example'

export type FakeStorage = KeyValueStorage & { values: Map<string, string> }

export function createFakeStorage(): FakeStorage {
  const values = new Map<string, string>()
  return {
    values,
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => void values.set(key, value),
    removeItem: (key) => void values.delete(key),
  }
}

/** A client of `home` on a fake platform; `storage` can be that of another tab. */
export function buildClient(storage: FakeStorage = createFakeStorage(), more: Partial<ClientOptions> = {}) {
  const clock = createFakeClock()
  const network = createFakeNetwork()
  const sockets = createFakeSockets()
  let notifyStorageChange: (key: string | null) => void = () => undefined
  const client = createClient({
    origin: home,
    storage,
    fetch: network.fetch,
    openSocket: sockets.openSocket,
    clock,
    jitter: () => 0,
    watchStorage: (changed) => {
      notifyStorageChange = changed
      return () => undefined
    },
    ...more,
  })
  return { client, storage, clock, network, sockets, otherTabChanged: (key: string | null) => notifyStorageChange(key) }
}

/** A client whose user is connected to `remote` under the name alice@home.example. */
export async function buildConnectedClient(origins: string[] = [remote]) {
  const built = buildClient()
  const replicatedInstances = origins.map((origin) => ({ origin, username: 'alice@home.example' }))
  for (const origin of origins) {
    const user = buildUser({ id: '77', username: 'alice@home.example', homeInstance: 'home.example', homeUserId: '1' })
    built.network.answer(`POST ${origin}/api/auth/register`, { status: 201, body: { token: 'remote-token', user } })
  }
  const secrets = { password: 'old password' }
  built.client.session.initSession(buildToken(), buildUser({ replicatedInstances }), secrets)
  await built.clock.advance(0)
  return built
}
