export type Waiter<T> = PromiseWithResolvers<T>

/** Handshakes that wait for the batch of their user; those of one user share a promise. */
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

  /** Handshakes from now on wait for a later batch: what this one reads may be older than their socket. */
  take(userId: string): Waiter<T> | undefined {
    const waiter = this.#waiters.get(userId)
    this.#waiters.delete(userId)
    return waiter
  }

  /** Handshakes that were taken wait for the next batch. */
  requeue(userId: string, waiter: Waiter<T>): void {
    if (this.#waiters.has(userId)) void this.wait(userId).then(waiter.resolve, waiter.reject)
    else this.#waiters.set(userId, waiter)
  }
}
