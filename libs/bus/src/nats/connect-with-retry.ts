import { setTimeout as pause } from 'node:timers/promises'
import { abortable } from '@gatehouse/runtime'
import { ErrorCode, NatsError, connect } from 'nats'
import type { ConnectionOptions, NatsConnection } from 'nats'
import { connectAttemptMs, connectRetryMs, pingMs } from '../policy.ts'

type Address = Pick<ConnectionOptions, 'user' | 'pass' | 'token' | 'tls'> & { servers: string[] }

/** `url` may name several servers. Throws the reason of `stopRequested`, and one line without credentials for a refusal. */
export async function connectWithRetry(
  options: { url: string; name: string },
  stopRequested: AbortSignal,
): Promise<NatsConnection> {
  const address = parseAddress(options.url)
  for (;;) {
    stopRequested.throwIfAborted()
    const attempt = connect({ ...address, name: options.name, ...reconnectOptions })
    try {
      return await abortable(attempt, stopRequested)
    } catch (cause) {
      void attempt.then(
        (late) => late.close(),
        () => {},
      )
      stopRequested.throwIfAborted()
      const servers = address.servers.join(', ')
      if (isAuthError(cause)) throw new Error(`NATS at ${servers} refuses the credentials`, { cause })
    }
    await pause(connectRetryMs)
  }
}

const reconnectOptions: ConnectionOptions = {
  timeout: connectAttemptMs,
  maxReconnectAttempts: -1,
  reconnectTimeWait: 100,
  reconnectJitter: 400,
  reconnectJitterTLS: 400,
  pingInterval: pingMs,
  // A rotation refuses credentials for a while.
  ignoreAuthErrorAbort: true,
}

export const describeServers = (url: string): string => parseAddress(url).servers.join(', ')

function parseAddress(text: string): Address {
  const urls = text.split(',').map((part) => parseUrl(part.trim()))
  const servers = urls.map((url) => `${url.hostname}:${url.port || '4222'}`)
  const tls = urls.some((url) => url.protocol === 'tls:') ? { tls: {} } : {}
  const authority = urls.find((url) => url.username !== '')
  if (!authority) return { servers, ...tls }
  const user = decodeURIComponent(authority.username)
  if (authority.password === '') return { servers, ...tls, token: user }
  return { servers, ...tls, user, pass: decodeURIComponent(authority.password) }
}

function parseUrl(text: string): URL {
  const url = URL.parse(text.includes('://') ? text : `nats://${text}`)
  // The text may hold a password.
  if (!url?.hostname) throw new Error('the NATS address is malformed: expected nats://host:port')
  return url
}

function isAuthError(error: unknown): boolean {
  return error instanceof NatsError && error.code === ErrorCode.AuthorizationViolation.toString()
}
