export type Quota = ReturnType<typeof createQuota>

/** How many of something each key holds, with a maximum for each key and one in all. A key that holds nothing takes no memory. Maxima are functions, because the capacity of a service changes. */
export function createQuota(maxOfKey: number | (() => number), maxInAll: number | (() => number) = Infinity) {
  const amounts = new Map<string, number>()
  let total = 0
  return {
    /** False, and nothing is taken, when a maximum would be exceeded. */
    take: (key: string, amount = 1): boolean => {
      const next = (amounts.get(key) ?? 0) + amount
      if (next > valueOf(maxOfKey) || total + amount > valueOf(maxInAll)) return false
      amounts.set(key, next)
      total += amount
      return true
    },
    /** Gives back at most what the key holds. */
    release: (key: string, amount = 1): void => {
      const before = amounts.get(key) ?? 0
      const released = Math.min(before, amount)
      total -= released
      if (released < before) amounts.set(key, before - released)
      else amounts.delete(key)
    },
    /** What all keys hold. */
    total: (): number => total,
  }
}

const valueOf = (maximum: number | (() => number)): number => (typeof maximum === 'number' ? maximum : maximum())
