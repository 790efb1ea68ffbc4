import { freePort, startRedis, type LocalServer } from '@gatehouse/local-servers'
import { Redis } from 'ioredis'
import { eventually } from './eventually.ts'

const slotCount = 16_384
const formingMs = 60_000

export type ClusterNode = { server: LocalServer; redis: Redis; id: string }
export type RedisCluster = AsyncDisposable & {
  /** Each has a third of the slots, if there are three. */
  primaries: ClusterNode[]
  /** One of each primary, in the same order. */
  replicas: ClusterNode[]
  url: string
  /** Those of now, which replicas may have become. */
  listPrimaries(): Promise<ClusterNode[]>
  slotsOf(node: ClusterNode): Promise<number[]>
  /** Moves a slot with its keys, as `redis-cli --cluster reshard` does. */
  moveSlot(slot: number, from: ClusterNode, to: ClusterNode): Promise<void>
  /** All servers run, all slots are served, and each primary of now has a replica. */
  isWhole(): Promise<boolean>
}

/** A primary that is away for three seconds is replaced. `config` is added to the configuration of each server; it may require `password`. */
export async function startRedisCluster({
  primaries: count = 3,
  replicated = true,
  config = '',
  password = '',
} = {}): Promise<RedisCluster> {
  await using opening = new AsyncDisposableStack()
  const open = async (): Promise<ClusterNode> => {
    const cluster = `cluster-enabled yes\ncluster-node-timeout 3000\ncluster-port ${await freePort()}\n`
    const server = opening.use(await startRedis({ config: `${cluster}repl-diskless-sync-delay 0\n${config}` }))
    const redis = opening.adopt(new Redis({ port: server.port, password, maxRetriesPerRequest: 1 }), (connection) =>
      connection.disconnect(),
    )
    redis.on('error', () => undefined)
    return { server, redis, id: await redis.cluster('MYID') }
  }
  const openAll = (size: number) => Promise.all(Array.from({ length: size }, open))
  const [primaries, replicas] = [await openAll(count), await openAll(replicated ? count : 0)]
  const nodes = [...primaries, ...replicas]
  await meet(nodes)
  for (const [index, { redis }] of primaries.entries()) {
    const [first, next] = [index, index + 1].map((part) => Math.floor((part * slotCount) / count)) as [number, number]
    await redis.call('CLUSTER', 'ADDSLOTSRANGE', first, next - 1)
    await replicas[index]?.redis.cluster('REPLICATE', primaries[index]!.id)
  }
  await eventually('the cluster has formed', () => hasFormed(nodes, primaries), formingMs)

  const listPrimaries = async () => {
    const roles = await Promise.all(nodes.map((node) => isPrimary(node)))
    return nodes.filter((_, index) => roles[index])
  }
  const isWhole = async () => {
    if (!nodes.every(({ redis }) => redis.status === 'ready')) return false
    const now = await listPrimaries()
    return now.length === count && (await hasFormed(nodes, now))
  }
  const auth = password ? ['AUTH', password] : []
  const moveSlot: RedisCluster['moveSlot'] = async (slot, from, to) => {
    await to.redis.cluster('SETSLOT', slot, 'IMPORTING', from.id)
    await from.redis.cluster('SETSLOT', slot, 'MIGRATING', to.id)
    const keys = await from.redis.cluster('GETKEYSINSLOT', slot, 1_000)
    if (keys.length > 0)
      await from.redis.call('MIGRATE', '127.0.0.1', to.server.port, '', 0, 5_000, ...auth, 'KEYS', ...keys)
    for (const { redis } of [to, ...(await listPrimaries()).filter((node) => node !== to)]) {
      await redis.cluster('SETSLOT', slot, 'NODE', to.id)
    }
  }
  const url = `redis+cluster://:${encodeURIComponent(password)}@${nodes.map(({ server }) => `127.0.0.1:${server.port}`).join(',')}`
  const moved = opening.move()
  return {
    primaries,
    replicas,
    url,
    listPrimaries,
    slotsOf: listSlots,
    moveSlot,
    isWhole,
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  }
}

/** Whether it runs as a primary. */
async function isPrimary({ redis }: ClusterNode): Promise<boolean> {
  return redis.status === 'ready' && (await redis.role())[0] === 'master'
}

async function listSlots({ redis, id }: ClusterNode): Promise<number[]> {
  const ranges = await redis.cluster('SLOTS')
  return ranges
    .filter(([, , primary]) => primary?.[2] === id)
    .flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, index) => first + index))
}

/** Every server knows every other before roles are given. */
async function meet(nodes: readonly ClusterNode[]): Promise<void> {
  const [first, ...others] = nodes
  for (const { server, redis } of others) {
    const [, busPort] = (await redis.config('GET', 'cluster-port')) as [string, string]
    await first!.redis.call('CLUSTER', 'MEET', '127.0.0.1', server.port, busPort)
  }
  const knowsAll = new RegExp(`cluster_known_nodes:${nodes.length}\\r`)
  const everyoneKnows = async () => {
    const infos = await Promise.all(nodes.map(({ redis }) => redis.cluster('INFO')))
    return infos.every((info) => knowsAll.test(info))
  }
  await eventually('the servers know one another', everyoneKnows, formingMs)
}

/** All slots are served, and each primary has sent its replica what it has. */
async function hasFormed(nodes: readonly ClusterNode[], primaries: readonly ClusterNode[]): Promise<boolean> {
  const states = await Promise.all(nodes.map(({ redis }) => redis.cluster('INFO')))
  if (!states.every((info) => info.includes('cluster_state:ok'))) return false
  if (nodes.length === primaries.length) return true
  const replications = await Promise.all(primaries.map(({ redis }) => redis.info('replication')))
  return replications.every((info) => /slave0:.*state=online/.test(info))
}
