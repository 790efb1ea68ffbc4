/** How many of something each key holds, with a maximum for each key and one in all. */
export type Quota = {
  /** False, and nothing is taken, when a maximum would be exceeded. */
  take(key: string, amount?: number): boolean
  /** Gives back at most what the key holds. */
  release(key: string, amount?: number): void
  /** What all keys hold. */
  total(): number
}

/** A key that holds nothing takes no memory. Maxima are functions, because the capacity of a service changes. */
export function createQuota(maxOfKey: number | (() => number), maxInAll: number | (() => number) = Infinity): Quota {
  const held = new Map<string, number>()
  let total = 0
  return {
    take: (key, amount = 1) => {
      const next = (held.get(key) ?? 0) + amount
      if (next > valueOf(maxOfKey) || total + amount > valueOf(maxInAll)) return false
      held.set(key, next)
      total += amount
      return true
    },
    release: (key, amount = 1) => {
      const before = held.get(key) ?? 0
      const released = Math.min(before, amount)
      total -= released
      if (released < before) held.set(key, before - released)
      else held.delete(key)
    },
    total: () => total,
  }
}

const valueOf = (maximum: number | (() => number)): number => (typeof maximum === 'number' ? maximum : maximum())
