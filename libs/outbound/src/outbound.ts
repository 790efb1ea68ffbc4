import { errors } from 'undici'
import { parseAllowList } from './addresses.ts'
import { createConnections } from './connections.ts'
import { Exchange } from './exchange.ts'
import type { OutboundAnswer } from './exchange.ts'
import { createDnsLookup } from './lookup.ts'
import type { Lookup } from './lookup.ts'
import { OutboundFailure } from './outbound-failure.ts'
import { maxResponseBytes } from './policy.ts'
import { normalizeHostName } from './resolve-table.ts'
import type { ResolveTable } from './resolve-table.ts'
import { parseUrl, resolveTarget } from './target.ts'

export type { OutboundAnswer } from './exchange.ts'

/** `allowPrivate`: CIDRs, addresses or `loopback`. */
export type OutboundConfig = { allowPrivate: string[]; resolve: ResolveTable }

export type OutboundRequest = {
  method: string
  url: string
  /** `Host` is ignored. */
  headers?: Record<string, string>
  body?: string | Buffer
  /** For the whole exchange, name lookup included. */
  timeoutMs: number
  /** 64 KiB by default. */
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
  return {
    method: request.method,
    path: `${url.pathname}${url.search}`,
    headers: Object.fromEntries(headers),
    body: request.body ?? null,
  }
}

function readTable(table: ResolveTable): Map<string, ResolveTable[string]> {
  const entries = Object.entries(table).map(([name, place]): [string, ResolveTable[string]] => {
    const host = normalizeHostName(name)
    if (host === undefined) throw new Error(`"${name}" is not a host name`)
    return [host, place]
  })
  return new Map(entries)
}

/** A malformed request is a fault of this process. All else is the peer's failure. */
function asFailure(error: unknown, url: URL): unknown {
  if (error instanceof OutboundFailure || error instanceof errors.InvalidArgumentError) return error
  if (error instanceof errors.ConnectTimeoutError) {
    return new OutboundFailure('timeout', `${url.host} accepted no connection in time`, error)
  }
  if (error instanceof errors.HeadersOverflowError) {
    return new OutboundFailure('too_large', `${url.host} sent too many headers`, error)
  }
  return new OutboundFailure('unreachable', `${url.host} cannot be reached`, error)
}
