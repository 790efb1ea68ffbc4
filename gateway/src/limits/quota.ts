/** How many of something each key holds, with a maximum for each key. */
export type Quota = {
  /** False when the key holds the maximum already. */
  take(key: string, amount?: number): boolean
  release(key: string, amount?: number): void
}

/** A key that holds nothing takes no memory. */
export function createQuota(max: number): Quota {
  const held = new Map<string, number>()
  return {
    take: (key, amount = 1) => {
      const next = (held.get(key) ?? 0) + amount
      if (next > max) return false
      held.set(key, next)
      return true
    },
    release: (key, amount = 1) => {
      const next = (held.get(key) ?? 0) - amount
      if (next > 0) held.set(key, next)
      else held.delete(key)
    },
  }
}
