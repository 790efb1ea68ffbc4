import type { IncomingHttpHeaders } from 'node:http'
import { callerHeader } from '@gatehouse/auth'
import type { Refusal, Span } from '@gatehouse/runtime'
import { drainingHeader, requestIdHeader, type PublicAddress } from '@gatehouse/service-kit'

/** Names and values alternate. */
export type HeaderList = string[]

/** Contract: 1, CORS. Every origin may read, because there are no cookies. */
const crossOrigin = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, X-Request-Id',
  'Cross-Origin-Resource-Policy': 'cross-origin',
}

const ofPages = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
  'Permissions-Policy': 'camera=(), microphone=(), geolocation=()',
}

/** The web app uses the API, sockets and pictures of other instances. */
export const pageContentPolicy = [
  "default-src 'self'; img-src 'self' blob: data: https: http:; connect-src 'self' https: wss: http: ws:",
  "style-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
].join('; ')

export const apiContentPolicy = "default-src 'none'; frame-ancestors 'none'"
export const allMethods = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'

export type ResponseHeaders = ReturnType<typeof createResponseHeaders>

export function createResponseHeaders({ origin }: PublicAddress) {
  const security = {
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    ...(origin.startsWith('https:') && { 'Strict-Transport-Security': 'max-age=31536000' }),
  }
  return {
    api: Object.entries({ ...security, ...crossOrigin }).flat(),
    page: Object.entries({ ...security, ...ofPages }).flat(),
  }
}

/** A client may come back in a second where a refusal names no other time. Contract: 1, statuses. */
export function refusalHeaders({ status, headers }: Refusal): [name: string, value: string][] {
  const isRetryable = status === 429 || status === 503 || status === 504
  return Object.entries({ ...(isRetryable && { 'Retry-After': '1' }), ...headers })
}

/** A client could join other traces or force recording. W3C Trace Context. */
export const traceHeaders = ['traceparent', 'tracestate', 'baggage']

/** Each line has names with spaces between them. */
export const namesIn = (...lines: string[]): string[] => lines.flatMap((line) => line.split(' '))

/** They concern one connection only, so a proxy must not forward them. RFC 9110, 7.6.1. */
const hopByHopHeaders = namesIn(
  'connection keep-alive proxy-authenticate proxy-authorization proxy-connection',
  'te trailer transfer-encoding upgrade',
)

const droppedFromRequests = new Set([
  ...hopByHopHeaders,
  ...namesIn('host expect content-length authorization cookie forwarded x-real-ip'),
  // Some frameworks read the path from these.
  ...namesIn('x-original-url x-rewrite-url'),
  ...traceHeaders,
  requestIdHeader,
  callerHeader,
])
const droppedFromResponses = new Set([...hopByHopHeaders, requestIdHeader, drainingHeader, 'x-powered-by', 'server'])

/** What the client says about the caller is dropped: only the gateway may say it. Design: invariant 6. */
export function toUpstreamHeaders(
  received: IncomingHttpHeaders,
  { callerToken, requestId, span }: { callerToken: string; requestId: string; span?: Span | undefined },
): HeaderList {
  const headers = [callerHeader, callerToken, requestIdHeader, requestId]
  if (span) headers.push('traceparent', span.traceparent)
  const hopByHop = namedInConnection(received.connection)
  for (const name in received) {
    if (!droppedFromRequests.has(name) && !isReserved(name) && !hopByHop?.has(name)) copy(received, name, headers)
  }
  return headers
}

function copy(received: IncomingHttpHeaders, name: string, headers: HeaderList): void {
  const value = received[name]
  if (typeof value === 'string') headers.push(name, value)
  else if (value) for (const one of value) headers.push(name, one)
}

/** Some servers read an underscore as a hyphen. */
export function isReserved(name: string): boolean {
  if (name.includes('_')) return true
  return name.startsWith('x-') && (name.startsWith('x-gatehouse-') || name.startsWith('x-forwarded-'))
}

export function toClientHeaders(received: IncomingHttpHeaders, dropped?: ReadonlySet<string>): HeaderList {
  const headers: HeaderList = []
  const hopByHop = namedInConnection(received.connection)
  const isKept = (name: string): boolean =>
    name in received && !droppedFromResponses.has(name) && !dropped?.has(name) && !hopByHop?.has(name)
  for (const name in received) if (isKept(name)) copy(received, name, headers)
  if (!isKept('cache-control')) headers.push('Cache-Control', 'no-store')
  if (!isKept('content-security-policy')) headers.push('Content-Security-Policy', apiContentPolicy)
  return headers
}

function namedInConnection(connection: string | string[] | undefined): Set<string> | undefined {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return undefined
  const names = String(connection).split(',')
  return new Set(names.map((name) => name.trim().toLowerCase()))
}
