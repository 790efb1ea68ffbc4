import type { IncomingHttpHeaders } from 'node:http'
import { callerHeader } from '@gatehouse/auth'
import type { Span } from '@gatehouse/runtime'
import { drainingHeader, requestIdHeader } from '@gatehouse/service-kit'
import { apiContentPolicy, type HeaderList } from '../http/response-headers.ts'

/** A client could join its request to a trace of others, or have every one of its own recorded. W3C Trace Context. */
export const traceHeaders = ['traceparent', 'tracestate', 'baggage']

/** They hold for one connection only. RFC 9110, 7.6.1. */
const hopByHopHeaders = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

/** The gateway sets them itself, or replaces them by the caller token. */
const gatewayControlledHeaders = [
  'host',
  'expect',
  'content-length',
  'authorization',
  'cookie',
  'forwarded',
  'x-real-ip',
  // Some frameworks read the path there: another one than what was judged here.
  'x-original-url',
  'x-rewrite-url',
  ...traceHeaders,
  requestIdHeader,
  callerHeader,
]

const droppedFromRequests = new Set([...hopByHopHeaders, ...gatewayControlledHeaders])
const droppedFromResponses = new Set([...hopByHopHeaders, requestIdHeader, drainingHeader, 'x-powered-by', 'server'])

/** The headers of a request to a service. Design: invariant 6. */
export function toUpstreamHeaders(
  received: IncomingHttpHeaders,
  { callerToken, requestId, span }: { callerToken: string; requestId: string; span?: Span | undefined },
): HeaderList {
  const headers = [callerHeader, callerToken, requestIdHeader, requestId]
  if (span) headers.push('traceparent', span.traceparent)
  const named = namedInConnection(received.connection)
  for (const name in received) {
    if (droppedFromRequests.has(name) || isReserved(name) || named?.has(name)) continue
    const value = received[name]
    if (typeof value === 'string') headers.push(name, value)
    else if (value) for (const one of value) headers.push(name, one)
  }
  return headers
}

/**
 * Headers with which a client could pretend to be a proxy or the gateway; also those with an underscore, which some servers
 * read as a hyphen.
 */
export function isReserved(name: string): boolean {
  if (name.includes('_')) return true
  return name.startsWith('x-') && (name.startsWith('x-gatehouse-') || name.startsWith('x-forwarded-'))
}

/**
 * The headers of a service's response as they are sent to the client: not cached, and no page, unless the service says so.
 * `dropped`: further ones that this service's responses must not have.
 */
export function toClientHeaders(received: IncomingHttpHeaders, dropped?: ReadonlySet<string>): HeaderList {
  const headers: HeaderList = []
  const named = namedInConnection(received.connection)
  for (const name in received) {
    if (droppedFromResponses.has(name) || dropped?.has(name) || named?.has(name)) continue
    const value = received[name]
    if (typeof value === 'string') headers.push(name, value)
    else if (value) for (const one of value) headers.push(name, one)
  }
  if (received['cache-control'] === undefined) headers.push('Cache-Control', 'no-store')
  if (received['content-security-policy'] === undefined) headers.push('Content-Security-Policy', apiContentPolicy)
  return headers
}

/** `Connection: close, X-Trace` makes X-Trace a hop-by-hop header too. */
function namedInConnection(connection: string | string[] | undefined): Set<string> | undefined {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return undefined
  const names = String(connection).split(',')
  return new Set(names.map((name) => name.trim().toLowerCase()))
}
