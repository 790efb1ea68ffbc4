import { setTimeout as pause } from 'node:timers/promises'
import { startRedis, type LocalServer } from '@gatehouse/local-servers'
import { startTcpProxy, type TcpProxy } from '@gatehouse/test-kit'
import { Redis } from 'ioredis'
import { frozen, killed, type Fault } from './faults.ts'

const policies = [
  'noeviction',
  ...['allkeys-lru', 'allkeys-lfu', 'allkeys-random'],
  ...['volatile-lru', 'volatile-lfu', 'volatile-random', 'volatile-ttl'],
]
const ofEachPolicyMs = 2_000

/** The Redis of a run. */
export type RunRedis = {
  server: LocalServer
  url: string
  /** Leads through `proxies`. */
  proxiedUrl: string
  proxies: readonly TcpProxy[]
  faults: Fault[]
}

/** The forms that a run may have. What one opens goes with `opening`. */
export const redisForms: Readonly<Record<string, (opening: AsyncDisposableStack) => Promise<RunRedis>>> = {
  async single(opening) {
    const server = opening.use(await startRedis())
    const proxy = opening.use(await startTcpProxy(server.url))
    return { server, url: server.url, proxiedUrl: proxy.url, proxies: [proxy], faults: listRedisFaults(server) }
  },
}

/** Those of one server, which also loses or refuses entries while it runs. */
function listRedisFaults(redis: LocalServer): Fault[] {
  return [
    killed('Redis', redis),
    frozen('Redis', redis),
    {
      name: 'Redis emptied by FLUSHALL',
      inject: () => onRedis(redis, async (client) => void (await client.flushall())),
    },
    { name: 'Redis at its limit of memory, with each policy', inject: () => onRedis(redis, limitMemory) },
  ]
}

async function limitMemory(client: Redis): Promise<void> {
  for (const policy of policies) {
    await client.config('SET', 'maxmemory-policy', policy)
    await client.config('SET', 'maxmemory', '1mb')
    await pause(ofEachPolicyMs)
  }
  await client.config('SET', 'maxmemory', '0')
}

async function onRedis({ url }: LocalServer, act: (client: Redis) => Promise<void>): Promise<void> {
  const client = new Redis(url)
  client.on('error', () => undefined)
  try {
    await act(client)
  } finally {
    client.disconnect()
  }
}
