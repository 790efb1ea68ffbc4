import { systemTimer, type Timer } from '@gatehouse/runtime'

/** Items that time out within this time share one wake-up, in milliseconds: late by that much at most. */
const resolutionMs = 20

/**
 * Items that each time out the same time after they were added, unless they are deleted before. They time out in the
 * order in which they were added, so one timer on the first serves any number of them.
 */
export class TimeoutSet<T> {
  readonly #afterMs: number
  readonly #timer: Timer
  readonly #dueAt = new Map<T, number>()
  #expire: (item: T) => void = () => undefined
  #pending: unknown

  constructor(afterMs: number, timer: Timer = systemTimer) {
    this.#afterMs = afterMs
    this.#timer = timer
  }

  /** Passes each item that times out to `expire`, which may add it again. */
  onTimeout(expire: (item: T) => void): void {
    this.#expire = expire
  }

  /** Starts the time of an item, or starts it anew. */
  add(item: T): void {
    this.#dueAt.delete(item)
    this.#dueAt.set(item, this.#now() + this.#afterMs)
    this.#watchFirst()
  }

  delete(item: T): boolean {
    return this.#dueAt.delete(item)
  }

  get size(): number {
    return this.#dueAt.size
  }

  /** Deletes all items. */
  stop(): void {
    this.#dueAt.clear()
    this.#timer.clear(this.#pending)
    this.#pending = undefined
  }

  #watchFirst(): void {
    if (this.#pending !== undefined) return
    const [first] = this.#dueAt.values()
    if (first === undefined) return
    this.#pending = this.#timer.set(() => this.#expireDue(), Math.max(first - this.#now(), resolutionMs))
  }

  #expireDue(): void {
    this.#pending = undefined
    const now = this.#now()
    for (const [item, dueAt] of this.#dueAt) {
      if (dueAt > now) break
      this.#dueAt.delete(item)
      this.#expire(item)
    }
    this.#watchFirst()
  }

  /** Whole milliseconds take no heap object for each item. */
  #now(): number {
    return Math.round(this.#timer.now())
  }
}
