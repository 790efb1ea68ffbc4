import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { acceptShare, drainFlushMs, drainSweepMs, idleShare } from '../policy.ts'

/** The open connections of a server. Node tells neither which are idle nor which are upgraded. */
export type Connections = {
  readonly open: ReadonlySet<Socket>
  /** Whether a request of the connection is not answered yet, or an upgrade has taken it over. */
  isBusy(socket: Socket): boolean
  /** The responses that are not sent. */
  unsent(): ServerResponse[]
}

/** Follows the connections of a server from its start. `upgrades`: it has listeners that take connections over. */
export function trackConnections(server: Server, { upgrades }: { upgrades: boolean }): Connections {
  const open = new Set<Socket>()
  const upgraded = new WeakSet<object>()
  const latest = new WeakMap<Socket, ServerResponse>()
  // One listener for all connections: an idle WebSocket is held for hours, and costs little.
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
    isBusy: (socket) => upgraded.has(socket) || hasUnsent(socket),
    unsent: () => [...open].filter(hasUnsent).flatMap((socket) => latest.get(socket) ?? []),
  }
}

/** On each response of a service that stops: the gateway gives it no new work. */
export const drainingHeader = 'x-gatehouse-draining'

type DrainOptions = {
  limitMs: number
  /** Says so on each response, and takes new connections for a moment more, until the gateway has gone elsewhere. */
  announce: boolean
}

/**
 * Stops a server: it answers what is under way and what is still on the wire, the latter with `Connection: close`, takes
 * no new connection, and closes those that stay idle. What is not answered after `limitMs` gets 504, and every connection
 * that is left is destroyed. Contract: 8.
 */
export async function drain(server: Server, connections: Connections, options: DrainOptions): Promise<void> {
  const { limitMs, announce } = options
  const limit = setTimeout(() => void endAll(connections), limitMs)
  if (announce) {
    onEachResponse(server, (response) => response.setHeader(drainingHeader, '1'))
    // The system resets connections that wait to be accepted when the listener closes, and with them what they have sent.
    if (connections.open.size > 0) await pause(limitMs * acceptShare)
  }
  onEachResponse(server, (response) => response.setHeader('Connection', 'close'))
  // Not the method of `http.Server`: that one closes idle connections at once, and with them what is on the wire.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
  const sweep = setInterval(createSweep(connections, limitMs * idleShare), drainSweepMs)
  // The server does not wait for connections from within the process.
  await Promise.all([closed, ...[...connections.open].map(ended)])
  clearInterval(sweep)
  clearTimeout(limit)
  // Ends what the server checks periodically.
  server.close()
}

async function ended(socket: Socket): Promise<void> {
  await new Promise((resolve) => void socket.once('close', resolve))
}

function onEachResponse(server: Server, change: (response: ServerResponse) => void): void {
  server.prependListener('request', (_request, response) => change(response))
}

/**
 * Closes connections that were idle, and on which nothing came, for `graceMs`. It counts rounds of the event loop and not
 * the time: a process that had no processor for a while must read what came meanwhile first.
 */
function createSweep({ open, isBusy }: Connections, graceMs: number): () => void {
  const sweepsNeeded = Math.ceil(graceMs / drainSweepMs)
  const idle = new WeakMap<Socket, { sweeps: number; bytesRead: number }>()
  return () => {
    for (const socket of open) {
      const seen = idle.get(socket)
      if (isBusy(socket)) idle.delete(socket)
      else if (!seen) idle.set(socket, { sweeps: 0, bytesRead: socket.bytesRead })
      // Else a request is arriving on it, whose response ends it.
      else if (seen.bytesRead === socket.bytesRead && (seen.sweeps += 1) >= sweepsNeeded) socket.destroy()
    }
  }
}

const tooLate = JSON.stringify({
  error: 'The service is stopping. The request may have been carried out: check before you repeat it',
  statusCode: 504,
})

async function endAll({ open, unsent }: Connections): Promise<void> {
  for (const response of unsent()) {
    if (response.headersSent) continue
    response.writeHead(504, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': tooLate.length })
    response.end(tooLate)
  }
  await pause(drainFlushMs)
  for (const socket of open) socket.destroy()
}
