import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ConfigurationError } from '../config/configuration.ts'
import { drainMs, headerBytes } from '../policy.ts'
import { drain, trackConnections } from './drain.ts'
import { inProcessConnections } from './in-process-connections.ts'

export type Lifecycle = { draining: boolean }

export type Listening = Awaited<ReturnType<typeof listen>>

type RequestHandler = (request: IncomingMessage, response: ServerResponse) => unknown

export type ListenOptions = {
  host: string
  port: number
  portVariable?: string
  lifecycle?: Lifecycle
  drainMs?: number
  server?: ServerOptions
  upgrades?: boolean
  announceDrain?: boolean
}

/** Closing drains. Rejects with ConfigurationError when the port is taken. Contract: 8. */
export async function listen(handler: RequestHandler, options: ListenOptions) {
  const server = createServer(
    { keepAliveTimeout: 65_000, connectionsCheckingInterval: 5_000, maxHeaderSize: headerBytes, ...options.server },
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
    [Symbol.asyncDispose]: async (): Promise<void> => {
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
