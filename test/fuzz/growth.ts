import type { FuzzRun } from './run-fuzz.ts'

/**
 * The most that an instance may hold beyond what it held after the warm-up. Descriptors: pools of connections that were not
 * full then. Memory: the bounded caches of tokens, account states and rate limits.
 */
export const growthMax = { descriptors: 48, heapMiB: 64, rssMiB: 256 } as const

/** What grew more than that, each as a line. */
export function holdingsGrowth({ before, after }: Pick<FuzzRun, 'before' | 'after'>): string[] {
  const names = ['descriptors', 'heapMiB', 'rssMiB'] as const
  const grown = names.filter((name) => after[name] - before[name] > growthMax[name])
  return grown.map((name) => `${name} grew from ${before[name]} to ${after[name]}, by more than ${growthMax[name]}`)
}
