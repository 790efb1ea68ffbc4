import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ConfigurationError } from '../config/configuration.ts'
import { drainMs } from '../policy.ts'
import { drain, trackConnections } from './drain.ts'
import { inProcessConnections, type OpenConnection } from './in-process-connections.ts'

/** Whether a process stops: it answers what it has accepted and is not ready for more. */
export type Lifecycle = { draining: boolean }

export type Listening = AsyncDisposable & {
  server: Server
  port: number
  /** As other processes on this machine reach it. */
  url: string
  /** As the gateway of an embedded instance does. */
  connect: OpenConnection
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
  /** Whether `upgrade` listeners of the server take connections over. */
  upgrades?: boolean
  /** Whether responses tell the gateway that the process stops. */
  announceDrain?: boolean
}

/**
 * Serves HTTP. Closing it drains: no new connection, requests under way and on the wire are answered, connections that
 * stay idle end. Rejects with ConfigurationError when the port is taken. Contract: 8.
 */
export async function listen(handler: RequestHandler, options: ListenOptions): Promise<Listening> {
  const server = createServer(
    { keepAliveTimeout: 65_000, connectionsCheckingInterval: 5_000, ...options.server },
    (request, response) => void handler(request, response),
  )
  const connections = trackConnections(server, { upgrades: options.upgrades ?? false })
  let drained: Promise<void> | undefined
  await bind(server, options)
  const { port } = server.address() as AddressInfo
  const host = options.host === '0.0.0.0' || options.host === '::' ? '127.0.0.1' : options.host
  return {
    server,
    port,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    connect: inProcessConnections(server),
    [Symbol.asyncDispose]: async () => {
      if (options.lifecycle) options.lifecycle.draining = true
      drained ??= drain(server, connections, {
        limitMs: options.drainMs ?? drainMs,
        announce: options.announceDrain ?? false,
      })
      await drained
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
