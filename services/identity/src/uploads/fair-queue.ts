export type FairQueue<Item> = {
  /** False when the queue is full, or the source has as many in it as one may. */
  push(source: string, item: Item): boolean
  /** The oldest item of the source whose turn it is; those of `except` keep theirs. */
  take(except?: Pick<ReadonlySet<string>, 'has'>): Item | undefined
  size(): number
}

/**
 * A bounded queue that serves its sources (accounts, origins) in turns, so that one with many items delays others by one at
 * a time.
 */
export function createFairQueue<Item>(limits: { capacity: number; perSource: number }): FairQueue<Item> {
  /** In the order of their turns; none is empty. */
  const itemsBySource = new Map<string, Item[]>()
  let size = 0
  return {
    push: (source, item) => {
      const items = itemsBySource.get(source) ?? []
      if (size >= limits.capacity || items.length >= limits.perSource) return false
      items.push(item)
      itemsBySource.set(source, items)
      size += 1
      return true
    },
    take: (except) => {
      for (const [source, [first, ...others]] of itemsBySource) {
        if (except?.has(source)) continue
        itemsBySource.delete(source)
        if (others.length > 0) itemsBySource.set(source, others)
        size -= 1
        return first
      }
      return undefined
    },
    size: () => size,
  }
}
