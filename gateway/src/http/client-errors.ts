import { STATUS_CODES, type IncomingMessage, type Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { refuse, type Refusal } from '@gatehouse/runtime'
import type { Lifecycle } from '@gatehouse/service-kit'
import { policy } from '../policy.ts'
import { allMethods } from '../local/local-routes.ts'

const lateRequest = 'ERR_HTTP_REQUEST_TIMEOUT'

/** Contract: 1. */
export function handleClientErrors(server: Server, lifecycle: Lifecycle): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable || hasResponseBegun(socket)) return void socket.destroy()
    // The limit is shorter during a stop than the client may expect.
    if (lifecycle.draining && error.code === lateRequest) {
      return endWithError(socket, refuse.restarting())
    }
    endWithError(socket, refusalOf(error))
  })
  server.on('connect', (_request: IncomingMessage, socket: Duplex) =>
    endWithError(socket, refuse.method_not_allowed({ headers: { Allow: allMethods } })),
  )
}

/** For a connection without a `ServerResponse`. Contract: 1. */
export function endWithError(socket: Duplex, { status, headers, body }: Refusal, requestId?: string): void {
  socket.on('error', () => socket.destroy())
  const text = JSON.stringify(body)
  const isRetryable = status === 429 || status === 503 || status === 504
  const own = Object.entries({ ...(isRetryable && { 'Retry-After': '1' }), ...headers })
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Cache-Control: no-store',
    'Access-Control-Allow-Origin: *',
    'Access-Control-Expose-Headers: Retry-After, X-Request-Id',
    'Connection: close',
    ...(requestId === undefined ? [] : [`X-Request-Id: ${requestId}`]),
    ...own.map(([name, value]) => `${name}: ${value}`),
  ]
  socket.end(`${lines.join('\r\n')}\r\n\r\n${text}`)
  setTimeout(() => socket.destroy(), policy.errorLingerMs).unref()
}

/** Node has no public interface for this. */
function hasResponseBegun(socket: Duplex): boolean {
  const { _httpMessage: response } = socket as { _httpMessage?: { headersSent: boolean } | null }
  return response?.headersSent === true
}

function refusalOf({ code }: NodeJS.ErrnoException): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW') return refuse.headers_too_large()
  return code === lateRequest ? refuse.request_timeout() : refuse.malformed_request()
}
