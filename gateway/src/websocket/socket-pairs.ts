import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { runSpread, systemTimer } from '@gatehouse/runtime'
import { policy } from '../policy.ts'

export type SocketPairs = ReturnType<typeof createSocketPairs>

/** Both connections of a pair close together. They have an `error` listener, because an error without one ends the process. */
export function createSocketPairs() {
  const open = new Map<Socket, Pair>()
  const emptied = Promise.withResolvers<void>()
  let draining = false
  return {
    count: (): number => open.size,
    isDraining: (): boolean => draining,
    add: (client: Socket): Pair => {
      const pair = new Pair(client, () => draining)
      open.set(client, pair)
      client.once('close', () => {
        open.delete(client)
        if (draining && open.size === 0) emptied.resolve()
      })
      return pair
    },
    /** Closes all sockets with 1012, spread over time against a rush of clients. `timeoutMs` counts from the last. Contract: 6, server going away. */
    drain: async (timeoutMs: number): Promise<void> => {
      draining = true
      if (open.size === 0) return
      await runSpread(systemTimer, [...open.values()], { maxMs: policy.drainSpreadMs }, (pair) => pair.close())
      const giveUp = new AbortController()
      await Promise.race([emptied.promise, pause(timeoutMs, undefined, giveUp)]).finally(() => giveUp.abort())
      for (const client of open.keys()) client.destroy()
    },
  }
}

class Pair {
  readonly #client: Socket
  readonly #isDraining: () => boolean
  #upstream: Socket | undefined
  #isOpen = false

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
    this.#isOpen = true
    if (this.#isDraining()) this.close()
  }

  /** Ends what is sent to the session gateway, which then closes with 1012 after all that it has sent, and ends the connection. */
  close(): void {
    if (!this.#isOpen || !this.#upstream) return
    const client = this.#client
    client.unpipe(this.#upstream)
    // The end of a connection is seen only after its data is read.
    client.resume()
    this.#upstream.end()
  }
}
