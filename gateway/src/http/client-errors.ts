import { STATUS_CODES, type IncomingMessage, type Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { policy } from '../policy.ts'

/** Responds to malformed requests where the connection still allows it, and closes the connection. Contract: 1. */
export function handleClientErrors(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable || hasResponseBegun(socket)) return void socket.destroy()
    endWithError(socket, statusOf(error))
  })
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => endWithError(socket, 405))
}

/** Writes an error response to a connection that has no `ServerResponse`, and closes it. */
export function endWithError(socket: Duplex, status: number, message = STATUS_CODES[status] ?? 'Error'): void {
  socket.on('error', () => socket.destroy())
  const body = JSON.stringify({ error: message, statusCode: status })
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Access-Control-Allow-Origin: *',
    'Connection: close',
    ...(status === 503 ? ['Retry-After: 1'] : []),
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
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400
}
