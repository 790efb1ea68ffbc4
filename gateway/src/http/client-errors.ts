import { STATUS_CODES, type IncomingMessage, type Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { refuse, type Random, type Refusal } from '@gatehouse/runtime'
import { acceptRequestId, requestIdHeader, type Lifecycle } from '@gatehouse/service-kit'
import { policy } from '../policy.ts'
import { allMethods, refusalHeaders } from './headers.ts'

/** Answers what Node's parser rejects in the form of every other error. Contract: 1, errors. */
export function handleClientErrors(server: Server, lifecycle: Lifecycle, random: Random): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable || hasResponseBegun(socket)) return void socket.destroy()
    endWithError(socket, refusalOf(error, lifecycle), random.uuid())
  })
  server.on('connect', ({ headers }: IncomingMessage, socket: Duplex) => {
    const refusal = refuse.method_not_allowed({ headers: { Allow: allMethods } })
    endWithError(socket, refusal, acceptRequestId(headers[requestIdHeader], random))
  })
}

/** For a connection without a `ServerResponse`. Contract: 1, errors. */
export function endWithError(socket: Duplex, refusal: Refusal, requestId: string): void {
  socket.on('error', () => socket.destroy())
  const text = JSON.stringify(refusal.body)
  const lines = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Cache-Control: no-store',
    'Access-Control-Allow-Origin: *',
    'Access-Control-Expose-Headers: Retry-After, X-Request-Id',
    'Connection: close',
    `X-Request-Id: ${requestId}`,
    ...refusalHeaders(refusal).map(([name, value]) => `${name}: ${value}`),
  ]
  socket.end(`${lines.join('\r\n')}\r\n\r\n${text}`)
  setTimeout(() => socket.destroy(), policy.errorLingerMs).unref()
}

/** Node has no public interface for this. */
function hasResponseBegun(socket: Duplex): boolean {
  const { _httpMessage: response } = socket as { _httpMessage?: { headersSent: boolean } | null }
  return response?.headersSent === true
}

function refusalOf({ code }: NodeJS.ErrnoException, { draining }: Lifecycle): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW') return refuse.headers_too_large()
  if (code !== 'ERR_HTTP_REQUEST_TIMEOUT') return refuse.malformed_request()
  // The limit is shorter during a stop than the client may expect.
  return draining ? refuse.restarting() : refuse.request_timeout()
}
