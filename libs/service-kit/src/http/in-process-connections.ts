import type { Server } from 'node:http'
import { Duplex } from 'node:stream'

/** Opens a connection to a server of this process; throws as for a server that does not listen. */
export type OpenConnection = () => Duplex

/**
 * Connections to a server without the operating system: for the server they are connections as any other, but without
 * addresses and timeouts of their own. docs/decisions/in-process-hop.md.
 */
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

/** As much as a socket reads at once: what limits the memory of slow readers counts such pieces. */
const pieceBytes = 64 * 1024

/** One end of a connection, which gives what is written to it to the other end, as fast as that one reads. */
class ConnectionEnd extends Duplex {
  other: ConnectionEnd | undefined
  #rest: Buffer | undefined
  #written: ((error?: Error) => void) | undefined

  override _write(chunk: Buffer, _encoding: BufferEncoding, written: (error?: Error) => void): void {
    this.#rest = chunk
    this.#written = written
    // Not at once: what the other end does with it must not run inside, or throw into, what writes here.
    process.nextTick(() => this.#deliver())
  }

  override _read(): void {
    const { other } = this
    if (other) other.#deliver()
  }

  /** Gives pieces until the other end has enough; it asks for more by reading, and only then the write is done. */
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

  override _final(done: () => void): void {
    if (this.other && !this.other.destroyed) this.other.push(null)
    done()
  }

  /** An end that is closed ends the other after what is under way; one that fails, at once. */
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const { other } = this
    process.nextTick(() => {
      if (!other || other.destroyed) return
      if (error) other.destroy()
      else if (!this.writableFinished) other.push(null)
    })
    done(error)
  }
}

const reset = (): Error => Object.assign(new Error('the other end has closed the connection'), { code: 'ECONNRESET' })
