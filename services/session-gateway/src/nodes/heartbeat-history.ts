import type { Timer } from '@gatehouse/runtime'

/**
 * Whether this node's own heartbeats have succeeded for the whole time after which a silent node counts as dead. If
 * not, the database may have been away for all of them, and their silence says nothing.
 */
export class HeartbeatHistory {
  readonly #timer: Timer
  readonly #silenceMs: number
  #interruptedAt: number

  constructor(timer: Timer, silenceMs: number) {
    this.#timer = timer
    this.#silenceMs = silenceMs
    this.#interruptedAt = timer.now()
  }

  /** Runs a heartbeat. One that takes longer than that time counts as an interruption, as one that fails. */
  async observe(heartbeat: () => Promise<void>): Promise<void> {
    const startedAt = this.#timer.now()
    try {
      await heartbeat()
    } catch (error) {
      this.#interruptedAt = this.#timer.now()
      throw error
    }
    if (this.#timer.now() - startedAt > this.#silenceMs) this.#interruptedAt = this.#timer.now()
  }

  isComplete(): boolean {
    return this.#timer.now() - this.#interruptedAt >= this.#silenceMs
  }
}
