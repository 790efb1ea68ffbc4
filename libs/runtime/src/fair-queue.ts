/** A bounded queue that serves its sources (networks, accounts, origins) in turns: one with many items delays the others by one at a time. */
export function createFairQueue<Item>(limits: { capacity: number; perSource: number }) {
  /** In the order of their turns. None is empty. */
  const itemsOf = new Map<string, Set<Item>>()
  let size = 0

  function remove(source: string, item: Item): boolean {
    const items = itemsOf.get(source)
    if (!items?.delete(item)) return false
    size -= 1
    if (items.size === 0) itemsOf.delete(source)
    return true
  }
  return {
    /** False when the queue is full, or when the source has as many items in it as it may have. */
    push: (source: string, item: Item): boolean => {
      const items = itemsOf.get(source) ?? new Set()
      if (size >= limits.capacity || items.size >= limits.perSource) return false
      itemsOf.set(source, items.add(item))
      size += 1
      return true
    },
    /** The oldest item of the next source that `admits` accepts. A source that it refuses keeps its turn. */
    take: (admits: (source: string) => boolean = () => true): Item | undefined => {
      for (const [source, items] of itemsOf) {
        if (!admits(source)) continue
        const [item] = items
        itemsOf.delete(source)
        items.delete(item as Item)
        if (items.size > 0) itemsOf.set(source, items)
        size -= 1
        return item
      }
      return undefined
    },
    /** False for an item that is not in the queue. */
    remove,
    size: (): number => size,
  }
}
