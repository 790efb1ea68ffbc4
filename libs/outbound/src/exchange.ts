import type { Dispatcher, Pool } from 'undici'
import { OutboundFailure } from './outbound-failure.ts'

export type OutboundAnswer = { status: number; headers: Record<string, string>; body: Buffer }

/** A body stream and signals would cost a third of a request. docs/decisions/outbound-connections.md. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #outcome = Promise.withResolvers<OutboundAnswer>()
  readonly #maxBytes: number
  readonly #chunks: Buffer[] = []
  #length = 0
  #status = 0
  #headers: Record<string, string> = {}
  #controller: Dispatcher.DispatchController | undefined
  #failure: Error | undefined

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Rejects with OutboundFailure `redirect` or `too_large`, undici's error, or that of `end`. */
  get answer(): Promise<OutboundAnswer> {
    return this.#outcome.promise
  }

  async send(pool: Pool, request: Dispatcher.DispatchOptions): Promise<OutboundAnswer> {
    pool.dispatch(request, this)
    return await this.answer
  }

  /** Valid in any state. Ends the connection. */
  end(failure: Error): void {
    this.#failure ??= failure
    this.#outcome.reject(failure)
    this.#controller?.abort(failure)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#failure) controller.abort(this.#failure)
    else this.#controller = controller
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Dispatcher.ResponseData['headers']): void {
    if (status < 200) return
    if (status >= 300 && status <= 399) throw new OutboundFailure('redirect', `Redirected with ${status}`)
    this.#status = status
    this.#headers = joinHeaders(headers)
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#length += chunk.length
    if (this.#length > this.#maxBytes) throw new OutboundFailure('too_large', `Longer than ${this.#maxBytes} bytes`)
    this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    const [first = Buffer.alloc(0), ...more] = this.#chunks
    const body = more.length === 0 ? first : Buffer.concat(this.#chunks)
    this.#outcome.resolve({ status: this.#status, headers: this.#headers, body })
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#outcome.reject(error)
  }
}

function joinHeaders(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  const joined: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) joined[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return joined
}
