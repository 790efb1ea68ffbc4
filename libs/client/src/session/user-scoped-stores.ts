/** The stores with data of the current user, which are reset when the session starts or ends. */
export type UserScopedStores = {
  /** Adds a store; returns a function that removes it. */
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
