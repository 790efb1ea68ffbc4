import type { SecureContextOptions } from 'node:tls'
import { setTimeout as pause } from 'node:timers/promises'
import { abortable, withTimeout } from '@gatehouse/runtime'
import { ErrorCode, Events, NatsError, connect } from 'nats'
import type * as nats from 'nats'
import { BusUnavailable, type BusLog } from '../bus.ts'
import { connectAttemptMs, connectRetryMs, connectStartMs, drainMs, pingMs, refusedRetryMs } from '../policy.ts'

export type Client = { nc: nats.NatsConnection; jsm: nats.JetStreamManager; js: nats.JetStreamClient }
export type Connection = Awaited<ReturnType<typeof openConnection>>
export type ConnectionOptions = { url: string; tls?: SecureContextOptions | undefined; name: string; log: BusLog }

/** Connects in the background when NATS is late. Throws one line without credentials. Contract: 8, start. */
// eslint-disable-next-line max-lines-per-function -- one thing: its functions share its state
export async function openConnection({ url, tls = {}, name, log }: ConnectionOptions) {
  const { servers, ...credentials } = parseAddress(url, tls)
  const server = servers.join(', ')
  // deploy/nats/nats.conf lets each service read its own replies only.
  const inboxPrefix = `_INBOX.${(credentials.user ?? name).replaceAll(/[^\w-]/g, '_')}`
  const stop = new AbortController()
  const pending = new Set<(reason: BusUnavailable) => void>()
  const listeners = new Set<() => void>()
  const beginnings = new Set<(nc: nats.NatsConnection) => void>()
  let client: Client | undefined
  let up = false
  let late = false
  let lastFault: unknown

  async function connectUntilDone(): Promise<void> {
    while (!client) {
      stop.signal.throwIfAborted()
      const attempt = connect({ servers, ...credentials, name, inboxPrefix, ...reconnectOptions })
      try {
        const nc = await abortable(attempt, stop.signal)
        client = { nc, jsm: await nc.jetstreamManager({ checkAPI: false }), js: nc.jetstream() }
      } catch (cause) {
        lastFault = cause
        void attempt.then((nc) => nc.close()).catch(() => {})
        stop.signal.throwIfAborted()
        const isRefused = cause instanceof NatsError && cause.code === ErrorCode.AuthorizationViolation.toString()
        const refusal = isRefused && new Error(`NATS at ${server} refuses the credentials`, { cause })
        if (refusal && !late) throw refusal
        if (refusal) log.error({ err: refusal }, 'NATS cannot be used yet')
        await pause(refusal ? refusedRetryMs : connectRetryMs)
      }
    }
    void followStatus(client.nc)
    up = true
    for (const begin of beginnings) begin(client.nc)
    if (!late) return
    log.warn({}, 'NATS connected')
    for (const listener of listeners) listener()
  }

  function markLost() {
    up = false
    for (const reject of pending) reject(new BusUnavailable('disconnected'))
    pending.clear()
  }

  async function followStatus(nc: nats.NatsConnection) {
    for await (const { type, data } of nc.status()) {
      if (type === Events.Disconnect) {
        if (up) log.warn({ server: data }, 'NATS connection lost')
        markLost()
      }
      if (type === Events.Reconnect) {
        log.warn({ server: data }, 'NATS connection restored')
        up = true
        for (const listener of listeners) listener()
      }
      if (type === Events.Error) log.warn({ reason: data }, 'NATS error')
    }
    markLost()
  }

  /** Rejects with `BusUnavailable` without a connection or at its loss. */
  async function whenConnected<T>(work: (client: Client) => Promise<T>): Promise<T> {
    if (!up || !client) throw new BusUnavailable('disconnected')
    const lost = Promise.withResolvers<never>()
    pending.add(lost.reject)
    try {
      return await Promise.race([work(client), lost.promise])
    } catch (error) {
      throw asUnavailable(error)
    } finally {
      pending.delete(lost.reject)
    }
  }

  /** Resolves when NATS knows the subscription. Without a connection it begins with the next one. */
  async function listen(subject: string, receive: (message: nats.Msg) => void | Promise<void>, queue?: string) {
    const underWay = new Set<Promise<void>>()
    let subscription: nats.Subscription | undefined
    const begin = (nc: nats.NatsConnection) => {
      const callback = (error: NatsError | null, message: nats.Msg) => {
        if (error) return log.error({ err: error, subject }, 'NATS subscription refused')
        const handled = receive(message)
        if (handled) underWay.add(handled)
        void handled?.finally(() => underWay.delete(handled))
      }
      subscription = nc.subscribe(subject, { callback, ...(queue && { queue }) })
    }
    if (client) begin(client.nc)
    else beginnings.add(begin)
    await whenConnected(({ nc }) => nc.flush()).catch((error: unknown) => {
      if (!(error instanceof BusUnavailable)) throw error
    })
    return {
      async [Symbol.asyncDispose]() {
        beginnings.delete(begin)
        if (up) await subscription?.drain().catch(() => {})
        else subscription?.unsubscribe()
        await Promise.all(underWay)
      },
    }
  }

  const connecting = connectUntilDone()
  if (!(await Promise.race([connecting.then(() => true), pause(connectStartMs, false, { ref: false })]))) {
    late = true
    connecting.catch(() => {})
    log.warn({ server, err: lastFault }, 'cannot reach NATS yet: going on without')
  }
  return {
    log,
    isUp: (): boolean => up,
    whenConnected,
    /** Nothing without a connection: the client would queue it in memory without bound. */
    send(...message: Parameters<nats.NatsConnection['publish']>): void {
      if (up) client?.nc.publish(...message)
    },
    listen,
    /** Calls `listener` after a late first connection too. */
    onReconnect(listener: () => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async [Symbol.asyncDispose](): Promise<void> {
      const wasUp = up
      markLost()
      stop.abort()
      await connecting.catch(() => {})
      const drain = () => (wasUp ? client?.nc.drain() : undefined)
      await withTimeout(drain, drainMs, () => new Error('NATS did not drain in time')).catch(() => {})
      await client?.nc.close()
    },
  }
}

const reconnectOptions: nats.ConnectionOptions = {
  timeout: connectAttemptMs,
  maxReconnectAttempts: -1,
  reconnectTimeWait: 100,
  reconnectJitter: 400,
  reconnectJitterTLS: 400,
  pingInterval: pingMs,
  // A rotation refuses credentials for a while.
  ignoreAuthErrorAbort: true,
}

function parseAddress(text: string, tlsOptions: SecureContextOptions): nats.ConnectionOptions & { servers: string[] } {
  const urls = text.split(',').map((part) => {
    const url = URL.parse(part.includes('://') ? part.trim() : `nats://${part.trim()}`)
    // The text may hold a password.
    if (!url?.hostname) throw new Error('the NATS address is malformed: expected nats://host:port')
    return url
  })
  const servers = urls.map((url) => `${url.hostname}:${url.port || '4222'}`)
  const tls = urls.some((url) => url.protocol === 'tls:') ? { tls: tlsOptions as nats.TlsOptions } : {}
  const authority = urls.find((url) => url.username !== '')
  if (!authority) return { servers, ...tls }
  const user = decodeURIComponent(authority.username)
  if (authority.password === '') return { servers, ...tls, token: user }
  return { servers, ...tls, user, pass: decodeURIComponent(authority.password) }
}

const reasons: Record<string, BusUnavailable['reason']> = {
  [ErrorCode.NoResponders]: 'no-responders',
  [ErrorCode.Timeout]: 'timeout',
  [ErrorCode.ConnectionClosed]: 'disconnected',
  [ErrorCode.ConnectionDraining]: 'disconnected',
  [ErrorCode.Disconnect]: 'disconnected',
  [ErrorCode.RequestError]: 'disconnected',
}

function asUnavailable(error: unknown): unknown {
  const reason = error instanceof NatsError ? reasons[error.code] : undefined
  return reason ? new BusUnavailable(reason, error) : error
}
