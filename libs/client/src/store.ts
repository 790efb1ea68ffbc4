export type Store<T> = {
  /** Returns the unsubscribe function. */
  subscribe(changed: () => void): () => void
  /** The same object until it changes. */
  getSnapshot(): T
}

export type WritableStore<T> = Store<T> & { set(next: T): void }

/** A subscriber that throws does not stop the others. */
export function createStore<T>(initial: T): WritableStore<T> {
  const subscribers = new Set<() => void>()
  let current = initial
  return {
    subscribe: (changed) => {
      const subscriber = () => changed()
      subscribers.add(subscriber)
      return () => void subscribers.delete(subscriber)
    },
    getSnapshot: () => current,
    set: (next) => {
      if (Object.is(next, current)) return
      current = next
      for (const subscriber of [...subscribers]) {
        try {
          subscriber()
        } catch (error) {
          queueMicrotask(() => {
            throw error
          })
        }
      }
    },
  }
}
