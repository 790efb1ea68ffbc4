import type { Timer } from '@gatehouse/runtime'

/** After an interruption the silence of other nodes says nothing: the database may have been away. */
export class HeartbeatHistory {
  readonly #timer: Timer
  readonly #silenceMs: number
  #interruptedAt: number

  constructor(timer: Timer, silenceMs: number) {
    this.#timer = timer
    this.#silenceMs = silenceMs
    this.#interruptedAt = timer.now()
  }

  /** A slow heartbeat counts as an interruption. */
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
