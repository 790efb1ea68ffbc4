import { backoffMs, withTimeout, type Timer } from '@gatehouse/runtime'
import type { Socket } from 'node:net'
import type { SecureContextOptions, TLSSocket } from 'node:tls'
import type { Redis, RedisOptions } from 'ioredis'
import { redisReconnectBackoff } from './policy.ts'

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

const sentinelAddress = /^(rediss?)\+sentinel:\/\/(?:([^@/]*)@)?([^@/?]+)\/([^/?]+)(?:\?sentinelPassword=([^&]*))?$/

/**
 * `redis://`, `rediss://` (never in plain text), and `redis+sentinel://user:password@host:26379,host:26379/primary` or
 * `rediss+sentinel://`, which ask Sentinels which process is the primary. Contract: 8.
 */
export async function openRedis({ url, tls }: RedisAddress, options: Pipelining = {}): Promise<Redis> {
  const ioredis = await loadIoredis()
  const sentinel = sentinelAddress.exec(url)
  if (!sentinel) {
    const encrypted = url.startsWith('rediss:') ? { tls: { ...tls } } : {}
    return new ioredis.Redis(url, { ...redisOptions, ...options, ...encrypted })
  }
  const [, scheme, authority = '', hosts = '', name = '', sentinelPassword = ''] = sentinel
  const [username, password] = authority.split(':').map(decodeURIComponent)
  return new ioredis.Redis({
    ...redisOptions,
    ...options,
    name: decodeURIComponent(name),
    sentinels: hosts.split(',').map((host) => {
      const { hostname, port } = new URL(`redis://${host}`)
      return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 26_379) }
    }),
    ...(username && { username }),
    ...(password && { password }),
    ...(sentinelPassword && { sentinelPassword: decodeURIComponent(sentinelPassword) }),
    ...(scheme === 'rediss' && { tls: { ...tls }, sentinelTLS: { ...tls }, enableTLSForSentinelMode: true }),
    sentinelRetryStrategy: redisOptions.retryStrategy,
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
    const connect = prototype.connect as (...given: unknown[]) => Promise<Socket | TLSSocket>
    prototype.connect = async function (...given: unknown[]) {
      const stream = await connect.apply(this, given)
      return stream.on('error', () => undefined)
    }
  }
  return ioredis
}

/** A server that hangs is disconnected, so the next command fails at once. Rejects with RedisTimeout. */
export function limitCommands(redis: Pick<Redis, 'disconnect'>, timeoutMs: number, timer?: Timer) {
  return async <T>(command: () => Promise<T>): Promise<T> => {
    try {
      const onTimeout = () => new RedisTimeout(`no answer of Redis within ${timeoutMs} ms`)
      return await withTimeout(command, timeoutMs, onTimeout, timer)
    } catch (error) {
      if (error instanceof RedisTimeout) redis.disconnect(true)
      throw error
    }
  }
}
