import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { acceptShare, drainFlushMs, drainSweepMs, idleShare } from '../policy.ts'

/** Node tells neither which connections are idle nor which are upgraded. */
export type Connections = {
  readonly open: ReadonlySet<Socket>
  /** True for an unanswered request and for an upgraded connection. */
  isBusy(socket: Socket): boolean
  unsent(): ServerResponse[]
}

/** Must be called before the server accepts connections. `upgrades`: `upgrade` listeners take connections over. */
export function trackConnections(server: Server, { upgrades }: { upgrades: boolean }): Connections {
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
    isBusy: (socket) => upgraded.has(socket) || hasUnsent(socket),
    unsent: () => [...open].filter(hasUnsent).flatMap((socket) => latest.get(socket) ?? []),
  }
}

/** The gateway gives no new work to a service that sends this. */
export const drainingHeader = 'x-gatehouse-draining'

type DrainOptions = {
  limitMs: number
  /** Sends `drainingHeader`, and accepts connections a moment longer. */
  announce: boolean
}

/**
 * Answers requests under way and on the wire, then closes. The rest gets 504 after `limitMs` and is destroyed. Contract: 8.
 */
export async function drain(server: Server, connections: Connections, options: DrainOptions): Promise<void> {
  const { limitMs, announce } = options
  const limit = setTimeout(() => void endAll(connections), limitMs)
  if (announce) {
    onEachResponse(server, (response) => response.setHeader(drainingHeader, '1'))
    // Closing a listener resets the connections that wait to be accepted.
    if (connections.open.size > 0) await pause(limitMs * acceptShare)
  }
  onEachResponse(server, (response) => response.setHeader('Connection', 'close'))
  // `http.Server.close` closes idle connections at once and loses what is on the wire.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
  const sweep = setInterval(createSweep(connections, limitMs * idleShare), drainSweepMs)
  // `close` does not wait for connections within the process.
  await Promise.all([closed, ...[...connections.open].map(ended)])
  clearInterval(sweep)
  clearTimeout(limit)
  server.close()
}

async function ended(socket: Socket): Promise<void> {
  await new Promise((resolve) => void socket.once('close', resolve))
}

function onEachResponse(server: Server, change: (response: ServerResponse) => void): void {
  server.prependListener('request', (_request, response) => change(response))
}

/**
 * Closes connections on which nothing came for `graceMs`. Event loop rounds are counted, because a paused process must read
 * first.
 */
function createSweep({ open, isBusy }: Connections, graceMs: number): () => void {
  const sweepsNeeded = Math.ceil(graceMs / drainSweepMs)
  const idle = new WeakMap<Socket, { sweeps: number; bytesRead: number }>()
  return () => {
    for (const socket of open) {
      const seen = idle.get(socket)
      if (isBusy(socket)) idle.delete(socket)
      else if (!seen) idle.set(socket, { sweeps: 0, bytesRead: socket.bytesRead })
      // A request is arriving. Its response ends the connection.
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
