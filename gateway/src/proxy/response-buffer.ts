import type { Quota } from '@gatehouse/runtime'
import type { Dispatcher } from 'undici'
import type { Deps } from '../deps.ts'
import type { RequestContext } from '../http/request-context.ts'
import { policy } from '../policy.ts'

type BufferDeps = Pick<Deps, 'timeouts' | 'capacity'>

/** Reads ahead of a slow client, up to 1 MiB. A client that is too slow is cut off. */
export class ResponseBuffer {
  readonly #deps: BufferDeps
  readonly #context: RequestContext
  readonly #budget: Quota
  #bytes = 0
  #paused: Dispatcher.DispatchController | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(deps: BufferDeps, context: RequestContext, budget: Quota) {
    this.#deps = deps
    this.#context = context
    this.#budget = budget
    context.response.on('drain', this.#release)
    context.response.once('close', this.#release)
  }

  /** Called when the client has not read earlier bytes. */
  hold(controller: Dispatcher.DispatchController, bytes: number): void {
    const { response, network } = this.#context
    if (!this.#budget.take(network, bytes)) return void response.destroy()
    this.#bytes += bytes
    const isFull = this.#budget.total() >= this.#deps.capacity.bufferedBytes
    if (this.#paused || (this.#bytes <= policy.bufferedBytes && !isFull)) return
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
    if (this.#bytes > 0) this.#budget.release(this.#context.network, this.#bytes)
    this.#bytes = 0
    const controller = this.#paused
    this.#paused = undefined
    controller?.resume()
  }
}
