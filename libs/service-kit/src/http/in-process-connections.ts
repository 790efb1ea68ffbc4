import type { Server } from 'node:http'
import { Duplex } from 'node:stream'

/** Throws ECONNREFUSED when the server does not listen. */
export type OpenConnection = () => Duplex

/** These connections have no addresses or timeouts of their own. bench/NOTES.md. */
export function inProcessConnections(server: Server): OpenConnection {
  return () => {
    if (!server.listening) throw Object.assign(new Error('the server does not listen'), { code: 'ECONNREFUSED' })
    const [client, accepted] = [new ConnectionEnd(), new ConnectionEnd()]
    client.other = accepted
    accepted.other = client
    server.emit('connection', accepted)
    return client
  }
}

/** The size of a socket's read. The memory limit for slow readers counts such pieces. */
const pieceBytes = 64 * 1024

class ConnectionEnd extends Duplex {
  other: ConnectionEnd | undefined
  #rest: Buffer | undefined
  #written: ((error?: Error) => void) | undefined

  override _write(chunk: Buffer, _encoding: BufferEncoding, written: (error?: Error) => void): void {
    this.#rest = chunk
    this.#written = written
    // The other end must not run inside the writer's call.
    process.nextTick(() => this.#deliver())
  }

  override _read(): void {
    const { other } = this
    if (other) other.#deliver()
  }

  /** The write is done when the other end reads again. */
  #deliver(): void {
    const { other } = this
    while (other && this.#rest) {
      if (other.destroyed || other.readableEnded) return this.#complete(reset())
      const piece = this.#rest.subarray(0, pieceBytes)
      this.#rest = piece.length < this.#rest.length ? this.#rest.subarray(pieceBytes) : undefined
      if (!other.push(piece)) return
    }
    this.#complete()
  }

  #complete(error?: Error): void {
    const written = this.#written
    this.#rest = undefined
    this.#written = undefined
    written?.(error)
  }

  override _final(callback: () => void): void {
    if (this.other && !this.other.destroyed) this.other.push(null)
    callback()
  }

  /** Closing lets pending data through. A failure does not. */
  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    const { other } = this
    process.nextTick(() => {
      if (!other || other.destroyed) return
      if (error) other.destroy()
      else if (!this.writableFinished) other.push(null)
    })
    callback(error)
  }
}

const reset = (): Error => Object.assign(new Error('the other end has closed the connection'), { code: 'ECONNRESET' })
