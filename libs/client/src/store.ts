export type Store<T> = {
  /** Returns the unsubscribe function. */
  subscribe(changed: () => void): () => void
  /** The same object until it changes. */
  getSnapshot(): T
}

/** Returns the function that takes it out again. */
export function addTo<T>(members: Set<T>, member: T): () => void {
  members.add(member)
  return () => void members.delete(member)
}

/** A subscriber that throws does not stop the others. */
export function createStore<T>(initial: T): Store<T> & { set(next: T): void } {
  const subscribers = new Set<() => void>()
  let current = initial
  return {
    subscribe: (changed) => addTo(subscribers, () => changed()),
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
