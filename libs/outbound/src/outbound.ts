import { errors, type Dispatcher, type Pool } from 'undici'
import { parseAllowList, type OutboundConfig } from './addresses.ts'
import { createConnections } from './connections.ts'
import { OutboundFailure, createDnsLookup, parseUrl, readTable, resolveTarget } from './target.ts'
import type { Lookup, OutboundFailureKind } from './target.ts'

/** Unless a request sets another limit. */
const maxResponseBytes = 65_536

export type OutboundRequest = {
  method: string
  url: string
  /** `Host` is ignored. */
  headers?: Record<string, string>
  body?: string | Buffer
  /** For the whole exchange, name lookup included. */
  timeoutMs: number
  maxBytes?: number
  signal?: AbortSignal
}

export type Outbound = AsyncDisposable & {
  /** A redirect fails too. Throws OutboundFailure. */
  request(request: OutboundRequest): Promise<OutboundAnswer>
}

/** Plain http needs an allowed address. Throws for a faulty config. Contract: 7, outbound requests. */
export function createOutbound(config: OutboundConfig, overrides: { lookup?: Lookup } = {}): Outbound {
  const lookup = overrides.lookup ?? createDnsLookup()
  const guard = { allowed: parseAllowList(config.allowPrivate), table: readTable(config.resolve), lookup }
  const connections = createConnections()
  let closed = false
  return {
    request: async (request) => {
      const url = parseUrl(request.url)
      const exchange = new Exchange(request.maxBytes ?? maxResponseBytes)
      const lift = limitExchange(exchange, request)
      try {
        // The deadline may come during the lookup.
        const target = await Promise.race([resolveTarget(guard, url), exchange.answer as Promise<never>])
        if (closed) throw new OutboundFailure('unreachable', 'Outbound requests have ended')
        return await connections.withPool(target, (pool) => exchange.send(pool, outgoing(request, url)))
      } catch (error) {
        throw request.signal?.aborted && error === request.signal.reason ? error : asFailure(error, url)
      } finally {
        lift()
      }
    },
    [Symbol.asyncDispose]: async () => {
      closed = true
      lookup.close()
      await connections[Symbol.asyncDispose]()
    },
  }
}

function limitExchange(exchange: Exchange, { timeoutMs, signal }: OutboundRequest): () => void {
  const late = () => exchange.end(new OutboundFailure('timeout', `No answer within ${timeoutMs} ms`))
  const timer = setTimeout(late, timeoutMs)
  const abort = () => exchange.end(signal?.reason as Error)
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort)
  return () => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

function outgoing(request: OutboundRequest, url: URL) {
  const headers = Object.entries(request.headers ?? {}).filter(([name]) => name.toLowerCase() !== 'host')
  const path = `${url.pathname}${url.search}`
  return { method: request.method, path, headers: Object.fromEntries(headers), body: request.body ?? null }
}

/** A malformed request is a fault of this process. All else is the peer's failure. */
function asFailure(error: unknown, url: URL): unknown {
  if (error instanceof OutboundFailure || error instanceof errors.InvalidArgumentError) return error
  const failed = (kind: OutboundFailureKind, what: string) => new OutboundFailure(kind, `${url.host} ${what}`, error)
  if (error instanceof errors.ConnectTimeoutError) return failed('timeout', 'accepted no connection in time')
  if (error instanceof errors.HeadersOverflowError) return failed('too_large', 'sent too many headers')
  return failed('unreachable', 'cannot be reached')
}

export type OutboundAnswer = { status: number; headers: Record<string, string>; body: Buffer }

/** A body stream and signals would cost a third of a request. bench/NOTES.md. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #outcome = Promise.withResolvers<OutboundAnswer>()
  /** Rejects with OutboundFailure `redirect` or `too_large`, undici's error, or that of `end`. */
  readonly answer = this.#outcome.promise
  readonly #maxBytes: number
  readonly #chunks: Buffer[] = []
  #length = 0
  #status = 0
  #headers: Record<string, string> = {}
  #controller: Dispatcher.DispatchController | undefined
  #failure: Error | undefined

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  async send(pool: Pool, request: Dispatcher.DispatchOptions): Promise<OutboundAnswer> {
    pool.dispatch(request, this)
    return await this.answer
  }

  /** Valid in any state. Ends the connection. */
  end(failure: Error): void {
    this.#failure ??= failure
    this.#outcome.reject(failure)
    this.#controller?.abort(failure)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#failure) controller.abort(this.#failure)
    else this.#controller = controller
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Dispatcher.ResponseData['headers']): void {
    if (status < 200) return
    if (status >= 300 && status <= 399) throw new OutboundFailure('redirect', `Redirected with ${status}`)
    this.#status = status
    this.#headers = joinHeaders(headers)
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#length += chunk.length
    if (this.#length > this.#maxBytes) throw new OutboundFailure('too_large', `Longer than ${this.#maxBytes} bytes`)
    this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    const [first = Buffer.alloc(0), ...more] = this.#chunks
    const body = more.length === 0 ? first : Buffer.concat(this.#chunks)
    this.#outcome.resolve({ status: this.#status, headers: this.#headers, body })
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#outcome.reject(error)
  }
}

function joinHeaders(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  const joined: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) joined[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return joined
}
