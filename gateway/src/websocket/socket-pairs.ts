import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { closures } from '@gatehouse/contracts'
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

const goingAway = maskedCloseFrame(closures.goingAway)

class Pair {
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

  /** Sends a close frame with 1012 to the session gateway, which answers it and ends the connection. */
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

/** Finds the frame boundaries in one direction of a WebSocket. RFC 6455, 5.2. */
export class FrameBoundary {
  #bytesToCome = 0
  #partialHeader: Buffer | undefined

  isReached(): boolean {
    return this.#bytesToCome === 0 && this.#partialHeader === undefined
  }

  add = (chunk: Buffer): void => {
    let rest = chunk
    if (this.#partialHeader) {
      rest = Buffer.concat([this.#partialHeader, chunk])
      this.#partialHeader = undefined
    }
    while (rest.length > 0) {
      if (this.#bytesToCome === 0) {
        const header = headerLength(rest)
        if (rest.length < header) {
          // The chunk is a part of a larger buffer.
          this.#partialHeader = Buffer.from(rest)
          return
        }
        this.#bytesToCome = payloadLength(rest)
        rest = rest.subarray(header)
      }
      const skipped = Math.min(this.#bytesToCome, rest.length)
      this.#bytesToCome -= skipped
      rest = rest.subarray(skipped)
    }
  }
}

function headerLength(frame: Buffer): number {
  const second = frame[1]
  if (second === undefined) return 2
  const length = second & 0x7f
  const extended = length === 126 ? 2 : length === 127 ? 8 : 0
  return 2 + extended + (second & 0x80 ? 4 : 0)
}

function payloadLength(frame: Buffer): number {
  const length = frame.readUInt8(1) & 0x7f
  if (length === 126) return frame.readUInt16BE(2)
  return length === 127 ? Number(frame.readBigUInt64BE(2)) : length
}

/** A zero mask is safe between the gateway and its service. RFC 6455, 5.5.1. */
export function maskedCloseFrame({ code, message }: { code: number; message: string }): Buffer {
  const reason = Buffer.from(message)
  const frame = Buffer.alloc(2 + 4 + 2 + reason.length)
  frame.writeUInt8(0x88, 0)
  frame.writeUInt8(0x80 | (2 + reason.length), 1)
  frame.writeUInt16BE(code, 6)
  reason.copy(frame, 8)
  return frame
}
