/** An observable value, in the shape that React's useSyncExternalStore takes. */
export type Store<T> = {
  /** Calls `changed` after each change; returns a function that unsubscribes it. */
  subscribe(changed: () => void): () => void
  /** The current value: the same object until it changes. */
  getSnapshot(): T
}

export type WritableStore<T> = Store<T> & { set(next: T): void }

/** Holds a value and notifies its subscribers of each change, also after one of them threw. */
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
