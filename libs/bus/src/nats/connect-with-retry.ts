import { setTimeout as pause } from 'node:timers/promises'
import { abortable } from '@gatehouse/runtime'
import { ErrorCode, NatsError, connect } from 'nats'
import type { ConnectionOptions, NatsConnection } from 'nats'
import { connectAttemptMs, connectRetryMs, connectTimeoutMs, pingMs } from '../policy.ts'

type Address = Pick<ConnectionOptions, 'user' | 'pass' | 'token' | 'tls'> & { servers: string[] }

/**
 * Connects to NATS and stays connected for good afterwards. `url` may name several servers, separated by commas, and
 * carry credentials. Throws one line that names the servers, without credentials, when none answers within 5 s.
 */
export async function connectWithRetry(options: { url: string; name: string }): Promise<NatsConnection> {
  const address = parseAddress(options.url)
  const deadline = AbortSignal.timeout(connectTimeoutMs)
  for (;;) {
    const attempt = connect({ ...address, name: options.name, ...reconnectOptions })
    try {
      return await abortable(attempt, deadline)
    } catch (cause) {
      void attempt.then(
        (late) => late.close(),
        () => {},
      )
      const servers = address.servers.join(', ')
      if (isAuthError(cause)) throw new Error(`NATS at ${servers} refuses the credentials`, { cause })
      if (deadline.aborted) throw new Error(`cannot reach NATS at ${servers}`, { cause })
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
  // Credentials that are being rotated are refused for a while: that must not end the connection.
  ignoreAuthErrorAbort: true,
}

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
  // The text itself stays out of the message: it may hold a password.
  if (!url?.hostname) throw new Error('the NATS address is malformed: expected nats://host:port')
  return url
}

function isAuthError(error: unknown): boolean {
  return error instanceof NatsError && error.code === ErrorCode.AuthorizationViolation.toString()
}
