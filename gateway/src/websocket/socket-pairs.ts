import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { closures } from '@gatehouse/contracts'
import { runSpread, systemTimer } from '@gatehouse/runtime'
import { policy } from '../policy.ts'
import { FrameBoundary, maskedCloseFrame } from './frame-boundary.ts'

export type SocketPair = {
  pairWith(upstream: Socket): void
  opened(): void
}

export type SocketPairs = {
  count(): number
  add(client: Socket): SocketPair
  isDraining(): boolean
  /**
   * Closes all sockets with 1012. They are spread over time, so that clients do not reconnect at once. `timeoutMs` counts
   * from the last one. Contract: 6.
   */
  drain(timeoutMs: number): Promise<void>
}

/**
 * Both connections of a pair close together. They have an `error` listener, because an error without one ends the process.
 */
export function createSocketPairs(): SocketPairs {
  const open = new Map<Socket, Pair>()
  const emptied = Promise.withResolvers<void>()
  let draining = false

  return {
    count: () => open.size,
    isDraining: () => draining,
    add: (client) => {
      const pair = new Pair(client, () => draining)
      open.set(client, pair)
      client.once('close', () => {
        open.delete(client)
        if (draining && open.size === 0) emptied.resolve()
      })
      return pair
    },
    drain: async (timeoutMs) => {
      draining = true
      if (open.size === 0) return
      await runSpread(systemTimer, [...open.values()], { maxMs: policy.drainSpreadMs }, (pair) => pair.close())
      const giveUp = new AbortController()
      await Promise.race([emptied.promise, pause(timeoutMs, undefined, giveUp)]).finally(() => giveUp.abort())
      for (const client of open.keys()) client.destroySoon()
    },
  }
}

const goingAway = maskedCloseFrame(closures.goingAway)

class Pair implements SocketPair {
  readonly #client: Socket
  readonly #isDraining: () => boolean
  readonly #boundary = new FrameBoundary()
  #upstream: Socket | undefined
  #state: 'opening' | 'open' | 'closing' | 'closed' = 'opening'

  constructor(client: Socket, isDraining: () => boolean) {
    this.#client = client
    this.#isDraining = isDraining
    client.on('error', () => client.destroy())
  }

  pairWith(upstream: Socket): void {
    const client = this.#client
    this.#upstream = upstream
    upstream.on('error', () => upstream.destroy())
    upstream.once('close', () => client.destroySoon())
    client.once('close', () => upstream.destroySoon())
    if (client.destroyed) upstream.destroy()
  }

  opened(): void {
    this.#state = 'open'
    this.#client.on('data', this.#follow)
    if (this.#isDraining()) this.close()
  }

  #follow = (chunk: Buffer): void => {
    this.#boundary.add(chunk)
    if (this.#state === 'closing') this.close()
  }

  /**
   * Sends a close frame with 1012 to the session gateway, which answers it and ends the connection. Frames to the client
   * need not be followed.
   */
  close(): void {
    if (this.#state === 'opening' || this.#state === 'closed') return
    this.#state = 'closing'
    if (!this.#upstream || !this.#boundary.isReached()) return
    this.#state = 'closed'
    const client = this.#client
    client.unpipe(this.#upstream)
    client.off('data', this.#follow)
    // The end of a connection is seen only after its data is read.
    client.resume()
    this.#upstream.write(goingAway)
  }
}
