/** A value that can be watched; the shape that React's useSyncExternalStore takes. */
export type Store<T> = {
  /** Calls `changed` after each change; gives a function that stops it. */
  subscribe(changed: () => void): () => void
  /** The current value: the same object until it changes. */
  getSnapshot(): T
}

export type WritableStore<T> = Store<T> & { set(next: T): void }

/** Holds a value and tells its subscribers of each change. A subscriber that throws does not silence the others. */
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
