import { backoffMs, withTimeout, type Timer } from '@gatehouse/runtime'
import type { Socket } from 'node:net'
import type { SecureContextOptions, TLSSocket } from 'node:tls'
import type { Cluster, Redis, RedisOptions } from 'ioredis'
import { clusterRenewalMs, redisCommandMs, redisReconnectBackoff } from './policy.ts'

export class RedisTimeout extends Error {
  override readonly name = 'RedisTimeout'
}

/** Fails commands at once while there is no connection. Commands need a time limit of `limitCommands`. */
const redisOptions = {
  enableAutoPipelining: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  connectTimeout: 2_000,
  disconnectTimeout: 200,
  retryStrategy: (attempt: number) => backoffMs(attempt - 1, redisReconnectBackoff),
} satisfies RedisOptions

type Pipelining = Pick<RedisOptions, 'autoPipeliningIgnoredCommands'>
export type RedisAddress = { url: string; tls?: SecureContextOptions }

const severalHosts =
  /^(rediss?)\+(sentinel|cluster):\/\/(?:([^@/]*)@)?([^@/?]+)(?:\/([^/?]*))?(?:\?sentinelPassword=([^&]*))?$/

type Servers = { kind: string; hosts: RedisHost[]; name: string; sentinelPassword: string; options: Access }
type Access = Pick<RedisOptions, 'username' | 'password' | 'tls'>
export type RedisHost = { host: string; port: number }

/** Undefined: the address names one server. */
function readServers({ url, tls }: RedisAddress): Servers | undefined {
  const parts = severalHosts.exec(url)
  if (!parts) return undefined
  const [, scheme, kind = '', authority = '', hosts = '', name = '', sentinelPassword = ''] = parts
  const [username, password] = authority.split(':').map(decodeURIComponent)
  return {
    kind,
    hosts: hosts.split(',').map((host) => parseHost(host, kind === 'sentinel' ? 26_379 : 6_379)),
    name: decodeURIComponent(name),
    sentinelPassword: decodeURIComponent(sentinelPassword),
    options: {
      ...(username && { username }),
      ...(password && { password }),
      ...(scheme === 'rediss' && { tls: { ...tls } }),
    },
  }
}

function parseHost(text: string, defaultPort: number): RedisHost {
  const { hostname, port } = new URL(`redis://${text}`)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || defaultPort) }
}

/**
 * `redis://`, `rediss://` (never in plain text), and `redis+sentinel://user:password@host:26379,host:26379/primary` or
 * `rediss+sentinel://`, which ask Sentinels which process is the primary. Contract: 8, several Redis servers.
 */
export async function openRedis(address: RedisAddress, options: Pipelining = {}): Promise<Redis> {
  const ioredis = await loadIoredis()
  const servers = readServers(address)
  if (!servers) {
    const encrypted = address.url.startsWith('rediss:') ? { tls: { ...address.tls } } : {}
    return new ioredis.Redis(address.url, { ...redisOptions, ...options, ...encrypted })
  }
  const { name, hosts, sentinelPassword, options: connectionOptions } = servers
  return new ioredis.Redis({
    ...redisOptions,
    ...options,
    ...connectionOptions,
    name,
    sentinels: hosts,
    ...(sentinelPassword && { sentinelPassword }),
    ...(connectionOptions.tls && { sentinelTLS: connectionOptions.tls, enableTLSForSentinelMode: true }),
    sentinelRetryStrategy: redisOptions.retryStrategy,
  })
}

/** `open` connects to one server of the cluster. */
export type RedisCluster = { hosts: readonly RedisHost[]; open(host: RedisHost): Redis }

/** `redis+cluster://user:password@host:6379,host:6379` or `rediss+cluster://`. Undefined: another address. Contract: 8, several Redis servers. */
export async function readRedisCluster(address: RedisAddress): Promise<RedisCluster | undefined> {
  const servers = readServers(address)
  if (servers?.kind !== 'cluster') return undefined
  const ioredis = await loadIoredis()
  const open = (host: RedisHost) => new ioredis.Redis({ ...redisOptions, ...servers.options, ...host })
  return { hosts: servers.hosts, open }
}

/** For commands that any process behind the address may carry out. */
export async function openRedisClient(address: RedisAddress): Promise<Redis | Cluster> {
  const servers = readServers(address)
  if (servers?.kind !== 'cluster') return await openRedis(address)
  const { retryStrategy, ...nodeOptions } = redisOptions
  const ioredis = await loadIoredis()
  return new ioredis.Cluster(servers.hosts, {
    enableOfflineQueue: false,
    clusterRetryStrategy: retryStrategy,
    slotsRefreshInterval: clusterRenewalMs,
    // A failed command is not sent again: its time is short.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    maxRedirections: 2,
    // TLS compares the name of the certificate with the name in the address.
    dnsLookup: (host, done) => done(null, host),
    // One server that hangs closes no other connection.
    redisOptions: { ...nodeOptions, ...servers.options, socketTimeout: redisCommandMs },
  })
}

/** An embedded process has no Redis. */
let loading: ReturnType<typeof importIoredis> | undefined
const loadIoredis = () => (loading ??= importIoredis())

/**
 * ioredis listens for the first error of a connection alone. With TLS there may be two, and the second would end this
 * process: the client refuses a certificate, and the server's alert arrives together with that certificate.
 */
async function importIoredis() {
  const ioredis = await import('ioredis')
  const { default: standalone } = await import('ioredis/built/connectors/StandaloneConnector.js')
  for (const { prototype } of [standalone.default, ioredis.SentinelConnector]) {
    const connect = prototype.connect as (...args: unknown[]) => Promise<Socket | TLSSocket>
    prototype.connect = async function (...args: unknown[]) {
      const stream = await connect.apply(this, args)
      return stream.on('error', () => undefined)
    }
  }
  return ioredis
}

/** A server that hangs is disconnected, so the next command fails at once; a cluster does so itself. Rejects with RedisTimeout. */
export function limitCommands(redis: Pick<Redis | Cluster, 'disconnect'>, timeoutMs: number, timer?: Timer) {
  return async <T>(command: () => Promise<T>): Promise<T> => {
    try {
      const onTimeout = () => new RedisTimeout(`no answer of Redis within ${timeoutMs} ms`)
      return await withTimeout(command, timeoutMs, onTimeout, timer)
    } catch (error) {
      if (error instanceof RedisTimeout && !('isCluster' in redis)) redis.disconnect(true)
      throw error
    }
  }
}
