import type { Socket } from 'node:net'
import type { Capacity } from '../policy.ts'
import { policy } from '../policy.ts'
import { createQuota } from './quota.ts'

/** Limits the open connections: of each client network, and in total by the process's file descriptors. Contract: 6. */
export type ConnectionLimits = {
  /** Counts a new connection. One beyond a limit stays open for a moment, so that its first request can be answered. */
  add(socket: Socket): void
  /** Whether the connection is beyond a limit: its request gets 503. */
  isRefused(socket: Socket): boolean
  /** Counts the connection as a WebSocket of `network` from now on: false beyond a limit. */
  upgrade(socket: Socket, network: string): boolean
}

type LimitOptions = {
  capacity: Capacity
  /** File descriptors for clients: fewer the more replicas there are. */
  descriptors: () => number
  /** The network of a directly connected client; undefined for a trusted proxy, which speaks for many. */
  networkOf: (remote: string | undefined) => string | undefined
  onRefused: (reason: 'network' | 'total' | 'sockets') => void
}

type Entry = { network: string | undefined; socketNetwork: string | undefined; descriptors: number }

export function createConnectionLimits(options: LimitOptions): ConnectionLimits {
  const { capacity, descriptors, onRefused } = options
  const connections = createQuota(capacity.connectionsPerNetwork)
  const sockets = createQuota(capacity.socketsPerNetwork)
  const entries = new WeakMap<Socket, Entry>()
  /** The part that sockets may take, which stay for hours: requests are still answered when they have it. */
  const forSockets = (): number => Math.floor(descriptors() * policy.socketShare)
  let used = 0
  let refusedOpen = 0

  /** Not `socket.end()`: Node would still read a request and answer it. */
  function refuse(socket: Socket, reason: 'network' | 'total'): void {
    onRefused(reason)
    if (refusedOpen >= policy.refusedConnections) return void socket.destroy()
    refusedOpen += 1
    const timer = setTimeout(() => socket.destroy(), policy.errorLingerMs)
    socket.once('close', () => {
      clearTimeout(timer)
      refusedOpen -= 1
    })
  }

  return {
    add: (socket) => {
      if (used >= descriptors()) return refuse(socket, 'total')
      const network = options.networkOf(socket.remoteAddress)
      if (network !== undefined && !connections.take(network)) return refuse(socket, 'network')
      const entry: Entry = { network, socketNetwork: undefined, descriptors: 1 }
      entries.set(socket, entry)
      used += 1
      socket.once('close', () => {
        used -= entry.descriptors
        if (entry.network !== undefined) connections.release(entry.network)
        if (entry.socketNetwork !== undefined) sockets.release(entry.socketNetwork)
      })
    },
    isRefused: (socket) => !entries.has(socket),
    upgrade: (socket, network) => {
      const entry = entries.get(socket)
      const added = policy.descriptorsPerSocket - 1
      if (!entry || used + added > forSockets() || !sockets.take(network)) {
        onRefused('sockets')
        return false
      }
      if (entry.network !== undefined) connections.release(entry.network)
      Object.assign(entry, { network: undefined, socketNetwork: network, descriptors: policy.descriptorsPerSocket })
      used += added
      return true
    },
  }
}
