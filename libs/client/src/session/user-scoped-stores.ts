export type UserScopedStores = {
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
