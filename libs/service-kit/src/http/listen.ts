import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { ConfigurationError } from '../config/configuration.ts'

/** Whether a process stops: it answers what it has accepted and is not ready for more. */
export type Lifecycle = { draining: boolean }

export type Listening = AsyncDisposable & {
  server: Server
  port: number
  /** As other processes on this machine reach it. */
  url: string
}

type RequestHandler = (request: IncomingMessage, response: ServerResponse) => unknown

export type ListenOptions = {
  host: string
  port: number
  /** The variable that chose the port, for the message when it is taken. */
  portVariable?: string
  /** Its `draining` is set when closing begins. */
  lifecycle?: Lifecycle
  /** How long requests under way may take to end when it closes, in milliseconds. */
  drainMs?: number
  /** Other limits than the defaults of Node. */
  server?: ServerOptions
}

const defaultDrainMs = 15_000

/**
 * Serves HTTP. Closing it drains: no new connection, requests under way are answered, idle connections end. Rejects with
 * ConfigurationError when the port is taken.
 */
export async function listen(handler: RequestHandler, options: ListenOptions): Promise<Listening> {
  const server = createServer(
    { keepAliveTimeout: 65_000, connectionsCheckingInterval: 5_000, ...options.server },
    (request, response) => void handler(request, response),
  )
  const destroySockets = trackSockets(server)
  await bind(server, options)
  const { port } = server.address() as AddressInfo
  const host = options.host === '0.0.0.0' || options.host === '::' ? '127.0.0.1' : options.host
  return {
    server,
    port,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    [Symbol.asyncDispose]: async () => {
      if (options.lifecycle) options.lifecycle.draining = true
      await drain(server, destroySockets, options.drainMs ?? defaultDrainMs)
    },
  }
}

async function bind(server: Server, { host, port, portVariable = 'PORT' }: ListenOptions): Promise<void> {
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

/** `Server.closeAllConnections` leaves upgraded connections open, so all are tracked here. */
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

/** Connections get `Connection: close` and end after their response; those that are open at the limit are destroyed. */
async function drain(server: Server, destroySockets: () => void, limitMs: number): Promise<void> {
  server.prependListener('request', (_request, response) => {
    if (!response.headersSent) response.setHeader('Connection', 'close')
  })
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  const sweep = setInterval(() => server.closeIdleConnections(), 50)
  const limit = setTimeout(destroySockets, limitMs)
  await closed
  clearInterval(sweep)
  clearTimeout(limit)
}
