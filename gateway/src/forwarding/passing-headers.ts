import type { IncomingHttpHeaders } from 'node:http'
import { requestIdHeader } from '@gatehouse/service-kit'
import { callerHeader } from '@gatehouse/auth'
import type { HeaderList } from '../standing-headers.ts'

/** What counts for one connection only. RFC 9110, 7.6.1. */
const hopByHop = [
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

/** What the gateway says itself, or what is none of a service's business: who calls is in the caller's statement. */
const ownWord = [
  'host',
  'expect',
  'content-length',
  'authorization',
  'cookie',
  'forwarded',
  'x-real-ip',
  requestIdHeader,
  callerHeader,
]

const droppedFromRequests = new Set([...hopByHop, ...ownWord])
const droppedFromAnswers = new Set([...hopByHop, requestIdHeader, 'x-powered-by', 'server'])

/** The headers of a request as the service sees them. Design: invariant 6. */
export function headersToService(given: IncomingHttpHeaders, own: { caller: string; requestId: string }): HeaderList {
  const headers = [callerHeader, own.caller, requestIdHeader, own.requestId]
  const named = namedInConnection(given.connection)
  for (const name in given) {
    if (droppedFromRequests.has(name) || isReserved(name) || named?.has(name)) continue
    const value = given[name]
    if (typeof value === 'string') headers.push(name, value)
    else if (value) for (const one of value) headers.push(name, one)
  }
  return headers
}

/** Names with which a client could pretend to be a proxy or the gateway. */
function isReserved(name: string): boolean {
  return name.startsWith('x-') && (name.startsWith('x-gatehouse-') || name.startsWith('x-forwarded-'))
}

/** The headers of a service's answer as the client sees them. */
export function headersToClient(given: IncomingHttpHeaders): HeaderList {
  const headers: HeaderList = []
  const named = namedInConnection(given.connection)
  for (const name in given) {
    if (droppedFromAnswers.has(name) || named?.has(name)) continue
    const value = given[name]
    if (typeof value === 'string') headers.push(name, value)
    else if (value) for (const one of value) headers.push(name, one)
  }
  return headers
}

/** `Connection: close, X-Thing` makes X-Thing count for this connection only. */
function namedInConnection(connection: string | string[] | undefined): Set<string> | undefined {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return undefined
  const names = String(connection).split(',')
  return new Set(names.map((name) => name.trim().toLowerCase()))
}
