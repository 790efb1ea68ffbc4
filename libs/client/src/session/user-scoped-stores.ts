/** The stores that hold something of the current user and must forget it with the session. */
export type UserScopedStores = {
  /** Adds a store; gives a function that takes it out again. */
  register(store: { reset(): void }): () => void
  resetAll(): void
}

export function createUserScopedStores(): UserScopedStores {
  const stores = new Set<{ reset(): void }>()
  return {
    register: (store) => {
      stores.add(store)
      return () => void stores.delete(store)
    },
    resetAll: () => {
      for (const store of [...stores]) store.reset()
    },
  }
}
