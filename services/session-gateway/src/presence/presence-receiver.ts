import type { Subscription } from '@gatehouse/bus'
import { presenceChanged } from '@gatehouse/contracts'
import type { Deps, OperationContext } from '../deps.ts'

/** Receives the changes of presence that other nodes publish. */
export class PresenceReceiver implements AsyncDisposable {
  readonly #deps: Pick<OperationContext, 'log'> & Pick<Deps, 'bus' | 'presenceDelivery'>
  #subscription: Subscription | undefined

  constructor(deps: Pick<OperationContext, 'log'> & Pick<Deps, 'bus' | 'presenceDelivery'>) {
    this.#deps = deps
  }

  /** Without the bus, presence is recorded all the same: call it again at each heartbeat. */
  async subscribe(): Promise<void> {
    const { bus, log, presenceDelivery } = this.#deps
    try {
      this.#subscription ??= await bus.onBroadcast(presenceChanged, async ({ payload }) =>
        presenceDelivery.take(payload),
      )
    } catch (err) {
      log.warn({ err }, 'presence subscription failed')
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#subscription?.[Symbol.asyncDispose]()
  }
}
