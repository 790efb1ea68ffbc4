import type { Dispatcher } from 'undici'
import type { RequestContext } from '../http/request-context.ts'
import { policy, type Timeouts } from '../policy.ts'
import type { BufferBudget } from './buffer-budget.ts'

type BufferDeps = { budget: BufferBudget; timeouts: Pick<Timeouts, 'bodyMs' | 'clientReadMs'> }

/** Reads ahead of a slow client, up to 1 MiB. A client that is too slow is cut off. */
export class ResponseBuffer {
  readonly #deps: BufferDeps
  readonly #context: RequestContext
  #bytes = 0
  #paused: Dispatcher.DispatchController | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(deps: BufferDeps, context: RequestContext) {
    this.#deps = deps
    this.#context = context
    context.response.on('drain', this.#release)
    context.response.once('close', this.#release)
  }

  /** Called when the client has not read earlier bytes. */
  hold(controller: Dispatcher.DispatchController, bytes: number): void {
    const { response, network } = this.#context
    if (!this.#deps.budget.take(network, bytes)) return void response.destroy()
    this.#bytes += bytes
    if (this.#paused || (this.#bytes <= policy.bufferedBytes && !this.#deps.budget.isFull())) return
    this.#paused = controller
    controller.pause()
    this.#cutAfter(this.#deps.timeouts.bodyMs)
  }

  end(): void {
    if (this.#bytes > 0) this.#cutAfter(this.#deps.timeouts.clientReadMs)
  }

  #cutAfter(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#context.response.destroy(), ms)
  }

  #release = (): void => {
    clearTimeout(this.#timer)
    if (this.#bytes > 0) this.#deps.budget.release(this.#context.network, this.#bytes)
    this.#bytes = 0
    const controller = this.#paused
    this.#paused = undefined
    controller?.resume()
  }
}
