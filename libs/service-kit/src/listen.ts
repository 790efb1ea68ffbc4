import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { ConfigurationError } from './configuration.ts'

export type Listening = AsyncDisposable & {
  server: Server
  port: number
  /** As others on this machine reach it. */
  url: string
  draining(): boolean
}

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown

type Where = {
  host: string
  port: number
  /** The variable that chose the port, for the message when it is taken. */
  portVariable?: string
  /** How long requests under way may take to end when it closes, in milliseconds. */
  drainMs?: number
  /** What the server is stricter or laxer in than by default. */
  server?: ServerOptions
}

/**
 * Serves HTTP. Closing it drains: no new connection, requests under way are answered, idle connections end. Rejects with
 * ConfigurationError when the port is taken.
 */
export async function listen(answer: Answer, where: Where): Promise<Listening> {
  const server = createServer(
    { keepAliveTimeout: 65_000, connectionsCheckingInterval: 5_000, ...where.server },
    (request, response) => void answer(request, response),
  )
  const cutAll = trackSockets(server)
  await bind(server, where)
  const { port } = server.address() as AddressInfo
  const host = where.host === '0.0.0.0' || where.host === '::' ? '127.0.0.1' : where.host
  let draining = false
  return {
    server,
    port,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    draining: () => draining,
    [Symbol.asyncDispose]: async () => {
      draining = true
      await drain(server, cutAll, where.drainMs ?? 15_000)
    },
  }
}

async function bind(server: Server, { host, port, portVariable = 'PORT' }: Where): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken = `${portVariable}: port ${port} on ${host} is taken; stop what uses it or choose another port`
      const denied = `${portVariable}: no permission to listen on port ${port}; choose one above 1023`
      const unknown = `HOST: cannot listen on ${host}; choose an address of this machine`
      const known = { EADDRINUSE: taken, EACCES: denied, EADDRNOTAVAIL: unknown, ENOTFOUND: unknown }[error.code ?? '']
      reject(known ? new ConfigurationError([known]) : error)
    })
    server.listen(port, host, resolve)
  })
  server.removeAllListeners('error')
}

/** Upgraded connections are none of the server's own count, so they are kept track of here. */
function trackSockets(server: Server): () => void {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return () => {
    for (const socket of sockets) socket.destroy()
  }
}

/** Connections that are told `Connection: close` end after their answer; what lingers past the limit is cut. */
async function drain(server: Server, cutAll: () => void, limitMs: number): Promise<void> {
  server.prependListener('request', (_request, response) => {
    if (!response.headersSent) response.setHeader('Connection', 'close')
  })
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  const sweep = setInterval(() => server.closeIdleConnections(), 50)
  const limit = setTimeout(cutAll, limitMs)
  await closed
  clearInterval(sweep)
  clearTimeout(limit)
}
