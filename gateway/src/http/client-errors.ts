import { STATUS_CODES, type IncomingMessage, type Server } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Lifecycle } from '@gatehouse/service-kit'
import { policy } from '../policy.ts'
import { allMethods } from './local-routes.ts'

const lateRequest = 'ERR_HTTP_REQUEST_TIMEOUT'

/** Responds to malformed requests where the connection still allows it, and closes the connection. Contract: 1. */
export function handleClientErrors(server: Server, lifecycle: Lifecycle): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable || hasResponseBegun(socket)) return void socket.destroy()
    // While it stops, the gateway waits for the rest of a request for a shorter time than its client may expect.
    if (lifecycle.draining && error.code === lateRequest) {
      return endWithError(socket, 503, { message: 'The server is restarting, please try again' })
    }
    endWithError(socket, statusOf(error))
  })
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => endWithError(socket, 405, { allow: allMethods }))
}

type RawError = { message?: string; requestId?: string; retryAfterSeconds?: number | undefined; allow?: string }

/** Writes an error response to a connection that has no `ServerResponse`, and closes it. Contract: 1. */
export function endWithError(socket: Duplex, status: number, error: RawError = {}): void {
  socket.on('error', () => socket.destroy())
  const { message = STATUS_CODES[status] ?? 'Error', requestId } = error
  const retryAfter = error.retryAfterSeconds ?? 1
  const isRetryable = status === 429 || status === 503 || status === 504
  const body = JSON.stringify(
    status === 429
      ? { error: 'Too Many Requests', statusCode: 429, message: 'Rate limit exceeded', retryAfter }
      : { error: message, statusCode: status },
  )
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'Access-Control-Allow-Origin: *',
    'Access-Control-Expose-Headers: Retry-After, X-Request-Id',
    'Connection: close',
    ...(requestId === undefined ? [] : [`X-Request-Id: ${requestId}`]),
    ...(error.allow === undefined ? [] : [`Allow: ${error.allow}`]),
    ...(isRetryable ? [`Retry-After: ${retryAfter}`] : []),
  ]
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`)
  setTimeout(() => socket.destroy(), policy.errorLingerMs).unref()
}

/** Node keeps the current response of a connection in `_httpMessage`, and nowhere in its public interface. */
function hasResponseBegun(socket: Duplex): boolean {
  const { _httpMessage: response } = socket as { _httpMessage?: { headersSent: boolean } | null }
  return response?.headersSent === true
}

function statusOf({ code }: NodeJS.ErrnoException): number {
  if (code === 'HPE_HEADER_OVERFLOW') return 431
  return code === lateRequest ? 408 : 400
}
