import { STATUS_CODES, type IncomingMessage, type Server } from 'node:http'
import type { Duplex } from 'node:stream'

/** Answers what is no proper request, as far as it can be answered, and ends the connection. Contract: 1. */
export function answerClientErrors(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const answered = (socket as unknown as { _httpMessage?: { headersSent: boolean } })._httpMessage
    if (error.code === 'ECONNRESET' || !socket.writable || answered?.headersSent) return void socket.destroy()
    endWithError(socket, statusOf(error))
  })
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => endWithError(socket, 405))
}

/** An answer on a bare connection. */
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
  // A client that keeps its side open must not keep ours.
  setTimeout(() => socket.destroy(), 1_000).unref()
}

function statusOf({ code }: NodeJS.ErrnoException): number {
  if (code === 'HPE_HEADER_OVERFLOW') return 431
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400
}
