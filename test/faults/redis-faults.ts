import { setTimeout as pause } from 'node:timers/promises'
import { startRedis, type LocalServer } from '@gatehouse/local-servers'
import { eventually, startRedisCluster, startTcpProxy, type RedisCluster, type TcpProxy } from '@gatehouse/test-kit'
import { Redis } from 'ioredis'
import type { Random } from '../fuzz/random.ts'
import { frozen, killed, type Fault } from './faults.ts'

const policies = [
  'noeviction',
  'allkeys-lru',
  'allkeys-lfu',
  'allkeys-random',
  'volatile-lru',
  'volatile-lfu',
  'volatile-random',
  'volatile-ttl',
]
const ofEachPolicyMs = 2_000
const movedSlots = 300
/** A replica takes over after three seconds. */
const takeoverLimitMs = 60_000

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
export const redisForms: Readonly<
  Record<string, (opening: AsyncDisposableStack, random: Random) => Promise<RunRedis>>
> = {
  async single(opening) {
    const server = opening.use(await startRedis())
    const proxy = opening.use(await startTcpProxy(server.url))
    return { server, url: server.url, proxiedUrl: proxy.url, proxies: [proxy], faults: listRedisFaults(server) }
  },
  async cluster(opening, random) {
    const cluster = opening.use(
      await startRedisCluster({ config: 'min-replicas-to-write 1\nmin-replicas-max-lag 2\n' }),
    )
    const { url, primaries } = cluster
    return {
      server: primaries[0]!.server,
      url,
      proxiedUrl: url,
      proxies: [],
      faults: listClusterFaults(cluster, random),
    }
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

/** After each one all slots are served again, and every primary has a replica. */
function listClusterFaults(cluster: RedisCluster, random: Random): Fault[] {
  const onPrimaries = async (act: (client: Redis) => Promise<unknown>) => {
    await Promise.all((await cluster.listPrimaries()).map(({ redis }) => act(redis)))
  }
  const faults: Fault[] = [
    {
      name: 'a primary of the Redis cluster killed, its replica takes over',
      async inject() {
        const before = await cluster.listPrimaries()
        const { server } = random.pick(before)
        await server.kill()
        const isReplaced = async () => (await cluster.listPrimaries()).length === before.length
        await eventually('a replica has taken over', isReplaced, takeoverLimitMs)
        await server.start()
      },
    },
    {
      name: `${movedSlots} slots of the Redis cluster moved`,
      async inject() {
        const primaries = await cluster.listPrimaries()
        const from = random.pick(primaries)
        const to = random.pick(primaries.filter((primary) => primary !== from))
        for (const slot of (await cluster.slotsOf(from)).slice(0, movedSlots)) await cluster.moveSlot(slot, from, to)
      },
    },
    { name: 'the Redis cluster emptied by FLUSHALL', inject: () => onPrimaries((client) => client.flushall()) },
    { name: 'the Redis cluster at its limit of memory, with each policy', inject: () => onPrimaries(limitMemory) },
  ]
  return faults.map(({ name, inject }) => ({
    name,
    async inject() {
      await inject()
      await eventually('the cluster is whole', () => cluster.isWhole(), takeoverLimitMs)
    },
  }))
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
