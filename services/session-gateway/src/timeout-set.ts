import type { Timer } from '@gatehouse/runtime'

/** In milliseconds. Items may be late by it. */
const resolutionMs = 20

/** Items expire in the order of `add`, so one timer serves all. */
export class TimeoutSet<T> {
  readonly #afterMs: number
  readonly #timer: Timer
  readonly #dueAt = new Map<T, number>()
  readonly #expire: (item: T) => void
  #pending: unknown

  /** `expire` may add the item again. */
  constructor(afterMs: number, timer: Timer, expire: (item: T) => void) {
    this.#afterMs = afterMs
    this.#timer = timer
    this.#expire = expire
  }

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

  /** Whole milliseconds need no heap object. */
  #now(): number {
    return Math.round(this.#timer.now())
  }
}
