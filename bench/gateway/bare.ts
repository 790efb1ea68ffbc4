import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { Pool, type Dispatcher } from 'undici'
import { tuneGc } from '@gatehouse/gateway'
import { tell } from './child.ts'

/** The least that a forwarding process in Node does: no check, no header looked at but those that HTTP forbids to copy. */
tuneGc()
const pool = new Pool(process.env.UPSTREAM!, { connections: 256, pipelining: 1 })

class Answer implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse
  constructor(response: ServerResponse) {
    this.#response = response
  }
  onRequestStart(): void {}
  onResponseStart(_controller: unknown, status: number, headers: IncomingHttpHeaders): void {
    delete headers.connection
    delete headers['keep-alive']
    this.#response.writeHead(status, headers)
  }
  onResponseData(_controller: unknown, piece: Buffer): void {
    this.#response.write(piece)
  }
  onResponseEnd(): void {
    this.#response.end()
  }
  onResponseError(): void {
    this.#response.destroy()
  }
}

const server = createServer((request, response) => {
  const { connection: _connection, host: _host, ...headers } = request.headers
  pool.dispatch({ path: request.url!, method: request.method!, headers }, new Answer(response))
})
server.keepAliveTimeout = 65_000
server.listen(0, '127.0.0.1', () => tell({ port: (server.address() as { port: number }).port }))
