import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { ServerResponse } from 'node:http'
import { createQuota, refuse } from '@gatehouse/runtime'
import { policy, type Capacity } from '../policy.ts'

export type ConnectionLimits = ReturnType<typeof createConnectionLimits>

type LimitOptions = {
  capacity: Capacity
  /** More replicas leave fewer. */
  descriptors: () => number
  /** Undefined for a trusted proxy. */
  networkOf: (remote: string | undefined) => string | undefined
  onRefused: (reason: 'network' | 'total' | 'sockets') => void
}

type Entry = { network: string | undefined; socketNetwork: string | undefined; descriptors: number }

/** Limits the connections of each client network, and of all together. Contract: 6, sockets of an account. */
export function createConnectionLimits({ capacity, descriptors, networkOf, onRefused }: LimitOptions) {
  const connections = createQuota(capacity.connectionsPerNetwork)
  const sockets = createQuota(capacity.socketsPerNetwork)
  const entries = new WeakMap<Socket, Entry>()
  /** The rest is kept for requests, because sockets stay for hours. */
  const forSockets = (): number => Math.floor(descriptors() * policy.socketShare)
  let used = 0
  let refusedOpen = 0

  /** After `socket.end()` Node would still answer a request. */
  function turnAway(socket: Socket, reason: 'network' | 'total'): void {
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
    /** A connection beyond a limit stays open briefly for its 503. */
    add: (socket: Socket): void => {
      if (used >= descriptors()) return turnAway(socket, 'total')
      const network = networkOf(socket.remoteAddress)
      if (network !== undefined && !connections.take(network)) return turnAway(socket, 'network')
      const entry: Entry = { network, socketNetwork: undefined, descriptors: 1 }
      entries.set(socket, entry)
      used += 1
      socket.once('close', () => {
        used -= entry.descriptors
        if (entry.network !== undefined) connections.release(entry.network)
        if (entry.socketNetwork !== undefined) sockets.release(entry.socketNetwork)
      })
    },
    isRefused: (socket: Socket): boolean => !entries.has(socket),
    upgrade: (socket: Socket, network: string): boolean => {
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

/** Node's value on macOS. */
const descriptorsOtherwise = 10_240

/** Reads the soft limit. Node raises it to the hard limit. */
export function readDescriptorLimit(path = '/proc/self/limits'): number {
  try {
    const [, soft] = /^Max open files\s+(\S+)/m.exec(readFileSync(path, 'utf8')) ?? []
    return soft === 'unlimited' ? 1_048_576 : Number(soft) || descriptorsOtherwise
  } catch {
    return descriptorsOtherwise
  }
}

export type UploadLimits = ReturnType<typeof createUploadLimits>

export function createUploadLimits(capacity: Capacity) {
  const networks = createQuota(capacity.uploadsPerNetwork, capacity.uploads)
  const accounts = createQuota(capacity.uploadsPerAccount)
  return {
    /** The upload ends with its response. Throws too_many_uploads. Contract: 1, statuses. */
    start: ({ network, response }: { network: string; response: ServerResponse }, userId: string): void => {
      if (response.destroyed) return
      if (!networks.take(network)) throw refuse.too_many_uploads()
      response.once('close', () => networks.release(network))
      if (!accounts.take(userId)) throw refuse.too_many_uploads()
      response.once('close', () => accounts.release(userId))
    },
  }
}
