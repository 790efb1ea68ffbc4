import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { Exchange } from '../exchange.ts'
import { headersToClient } from './passing-headers.ts'
import type { Replica } from './replicas.ts'

/** Whoever sent the request on, and hears what became of it. */
export type Sender = {
  /** The service began to answer, after so many seconds. */
  answered(replica: Replica, seconds: number): void
  /** Not called when the client left. `wasSent`: the service may have seen the request. */
  failed(replica: Replica, error: Error, wasSent: boolean): void
}

/**
 * One answer on its way from a service to the client, written as it comes and no faster than the client reads. When the
 * client leaves, the service's side is cut; when the service breaks off, the client's.
 */
export class Passage implements Dispatcher.DispatchHandler {
  readonly #exchange: Exchange
  readonly #replica: Replica
  readonly #sender: Sender
  readonly #started = performance.now()
  #controller: Dispatcher.DispatchController | undefined
  #hasEnded = false
  /** Of the whole body, when the service told it. */
  #length: number | undefined

  constructor(exchange: Exchange, replica: Replica, sender: Sender) {
    this.#exchange = exchange
    this.#replica = replica
    this.#sender = sender
    replica.underWay += 1
    exchange.passage = this
  }

  clientLeft(): void {
    if (!this.#hasEnded) this.#controller?.abort(new Error('the client left'))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#exchange.response.destroyed) this.clientLeft()
  }

  onResponseStart(_controller: unknown, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    this.#sender.answered(this.#replica, (performance.now() - this.#started) / 1000)
    const length = headers['content-length']
    if (length !== undefined) this.#length = Number(length)
    this.#exchange.response.writeHead(status, this.#exchange.apiHeaders(headersToClient(headers)))
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    const { response } = this.#exchange
    // Head and body leave in one piece of text when both are there: a third less work than two buffers.
    if (piece.length === this.#length) return void response.end(piece.toString('latin1'), 'latin1')
    if (response.write(piece)) return
    controller.pause()
    response.once('drain', () => controller.resume())
  }

  onResponseEnd(): void {
    const { response } = this.#exchange
    this.#end()
    if (!response.writableEnded) response.end()
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.#hasEnded) return
    this.#end()
    if (!this.#exchange.response.destroyed) this.#sender.failed(this.#replica, error, this.#controller !== undefined)
  }

  #end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#replica.underWay -= 1
  }
}
