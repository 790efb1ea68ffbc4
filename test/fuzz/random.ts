/** A generator that gives the same numbers for the same seed. */
export type Random = {
  /** An integer from 0 below `count`. */
  below(count: number): number
  /** True with this probability. */
  chance(probability: number): boolean
  pick<T>(items: readonly T[]): T
}

/** Mulberry32. */
export function seededRandom(seed: number): Random {
  let state = Math.imul(seed, 2_654_435_761) >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (count: number): number => Math.floor(next() * count)
  return { below, chance: (probability) => next() < probability, pick: (items) => items[below(items.length)]! }
}
