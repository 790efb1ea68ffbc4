import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { ConfigurationError } from '../config/configuration.ts'
import { acceptShare, drainFlushMs, drainMs, drainSweepMs, headerBytes, idleShare } from '../policy.ts'
import { shortTurnMs, waitingShare } from '../policy.ts'
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
  /** `upgrade` listeners take connections over. */
  upgrades?: boolean
  /** Names and values of the response to a request that a drain gives up. */
  lateHeaders?: (response: ServerResponse) => readonly string[]
  /** A drain sends `drainingHeader`, and accepts connections a moment longer. */
  announceDrain?: boolean
}

/** Closing drains. Rejects with ConfigurationError when the port is taken. Contract: 8, drain. */
export async function listen(handler: RequestHandler, options: ListenOptions) {
  const server = createServer(
    { keepAliveTimeout: 65_000, connectionsCheckingInterval: 5_000, maxHeaderSize: headerBytes, ...options.server },
    (request, response) => void handler(request, response),
  )
  const connections = trackConnections(server, options)
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
      await (drained ??= drain(server, connections, options))
    },
  }
}

async function bind(server: Server, { host, port, portVariable = 'PORT' }: ListenOptions): Promise<void> {
  server.listen(port, host)
  await once(server, 'listening').catch((error: unknown) => {
    const { code = '' } = error as NodeJS.ErrnoException
    const portInUse = `${portVariable}: port ${port} on ${host} is taken; stop what uses it or choose another port`
    const denied = `${portVariable}: no permission to listen on port ${port}; choose one above 1023`
    const unknown = `HOST: cannot listen on ${host}; choose an address of this machine`
    const message = { EADDRINUSE: portInUse, EACCES: denied, EADDRNOTAVAIL: unknown, ENOTFOUND: unknown }[code]
    throw message ? new ConfigurationError([message]) : error
  })
}

/** Node tells neither which connections are idle nor which are upgraded. */
type Connections = ReturnType<typeof trackConnections>

/** Must be called before the server accepts connections. */
function trackConnections(server: Server, { upgrades }: Pick<ListenOptions, 'upgrades'>) {
  const open = new Set<Socket>()
  const upgraded = new WeakSet<object>()
  const latest = new WeakMap<Socket, ServerResponse>()
  // One shared function, because an idle WebSocket should cost little.
  function forget(this: Socket): void {
    open.delete(this)
  }
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.on('close', forget)
  })
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    latest.set(socket, response)
  })
  if (upgrades) server.on('upgrade', (_request, socket) => upgraded.add(socket))
  const hasUnsent = (socket: Socket): boolean => latest.get(socket)?.writableFinished === false
  return {
    open,
    /** True for an unanswered request and for an upgraded connection. */
    isBusy: (socket: Socket): boolean => upgraded.has(socket) || hasUnsent(socket),
    unsent: (): ServerResponse[] => [...open].filter(hasUnsent).flatMap((socket) => latest.get(socket) ?? []),
  }
}

/** The gateway gives no new work to a service that sends this. */
export const drainingHeader = 'x-gatehouse-draining'

/** Answers requests under way and on the wire, then closes. The rest gets 504 after the limit and is destroyed. Contract: 8, drain. */
async function drain(server: Server, connections: Connections, options: ListenOptions): Promise<void> {
  const limitMs = options.drainMs ?? drainMs
  const limit = setTimeout(() => void endAll(connections, options.lateHeaders), limitMs)
  if (options.announceDrain) {
    onEachResponse(server, (response) => response.setHeader(drainingHeader, '1'))
    if (connections.open.size > 0) await pause(limitMs * acceptShare)
    await acceptWaiting(server, limitMs * waitingShare)
  }
  onEachResponse(server, (response) => response.setHeader('Connection', 'close'))
  // `http.Server.close` closes idle connections at once and loses what is on the wire.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
  const sweep = setInterval(createSweep(connections, limitMs * idleShare), drainSweepMs)
  // `close` does not wait for connections within the process.
  const ended = [...connections.open].map((socket) => new Promise((resolve) => void socket.once('close', resolve)))
  await Promise.all([closed, ...ended])
  clearInterval(sweep)
  clearTimeout(limit)
  server.close()
}

/**
 * Closing a listener resets the connections that wait to be accepted, and a turn of the event loop accepts one of them. Resolves
 * after a turn that accepted none, and was too short for another one to come. Under load no turn may be short, and under a
 * flood each accepts one: from `waitMs` on any turn that accepted none will do, and from twice of that on any turn.
 */
async function acceptWaiting(server: Server, waitMs: number): Promise<void> {
  const begunAt = performance.now()
  let accepted = 0
  const count = () => void (accepted += 1)
  server.on('connection', count)
  for (let isDone = false; !isDone;) {
    const [before, turnAt] = [accepted, performance.now()]
    await nextTurn()
    const now = performance.now()
    const [turnMs, waitedMs] = [now - turnAt, now - begunAt]
    isDone = accepted === before ? turnMs < shortTurnMs || waitedMs > waitMs : waitedMs > 2 * waitMs
  }
  server.off('connection', count)
}

function onEachResponse(server: Server, change: (response: ServerResponse) => void): void {
  server.prependListener('request', (_request, response) => change(response))
}

/** Closes connections on which nothing came for `graceMs`. Rounds are counted, because a paused process must read first. */
function createSweep({ open, isBusy }: Connections, graceMs: number): () => void {
  const sweepsNeeded = Math.ceil(graceMs / drainSweepMs)
  const idle = new WeakMap<Socket, { sweeps: number; bytesRead: number }>()
  return () => {
    for (const socket of open) {
      const entry = idle.get(socket)
      if (isBusy(socket)) idle.delete(socket)
      else if (!entry) idle.set(socket, { sweeps: 0, bytesRead: socket.bytesRead })
      // A request is arriving. Its response ends the connection.
      else if (entry.bytesRead === socket.bytesRead && (entry.sweeps += 1) >= sweepsNeeded) socket.destroy()
    }
  }
}

const tooLate = JSON.stringify({
  error: 'The service is stopping. The request may have been carried out: check before you repeat it',
  statusCode: 504,
  code: 'gateway_timeout',
})

async function endAll({ open, unsent }: Connections, lateHeaders: ListenOptions['lateHeaders']): Promise<void> {
  const type = ['Content-Type', 'application/json; charset=utf-8', 'Content-Length', String(tooLate.length)]
  for (const response of unsent()) {
    if (response.headersSent) continue
    response.writeHead(504, [...type, 'Retry-After', '5', ...(lateHeaders?.(response) ?? [])]).end(tooLate)
  }
  await pause(drainFlushMs)
  for (const socket of open) socket.destroy()
}
