export type Waiter<T> = PromiseWithResolvers<T>

export class Waiters<T> {
  readonly #waiters = new Map<string, Waiter<T>>()

  wait(userId: string): Promise<T> {
    const waiter = this.#waiters.get(userId) ?? Promise.withResolvers<T>()
    this.#waiters.set(userId, waiter)
    return waiter.promise
  }

  has(userId: string): boolean {
    return this.#waiters.has(userId)
  }

  /** This batch may read older data than a later handshake needs. */
  take(userId: string): Waiter<T> | undefined {
    const waiter = this.#waiters.get(userId)
    this.#waiters.delete(userId)
    return waiter
  }

  requeue(userId: string, waiter: Waiter<T>): void {
    if (this.#waiters.has(userId)) void this.wait(userId).then(waiter.resolve, waiter.reject)
    else this.#waiters.set(userId, waiter)
  }
}
