export type FairQueue<Item> = {
  /** False when the queue is full, or the account has as many in it as one may. */
  push(account: string, item: Item): boolean
  /** The oldest item of the account whose turn it is. */
  take(): Item | undefined
  size(): number
}

/** A bounded queue that serves accounts in turns, so that one with many items delays others by one at a time. */
export function createFairQueue<Item>(limits: { capacity: number; perAccount: number }): FairQueue<Item> {
  /** In the order of their turns; none is empty. */
  const itemsByAccount = new Map<string, Item[]>()
  let size = 0
  return {
    push: (account, item) => {
      const items = itemsByAccount.get(account) ?? []
      if (size >= limits.capacity || items.length >= limits.perAccount) return false
      items.push(item)
      itemsByAccount.set(account, items)
      size += 1
      return true
    },
    take: () => {
      for (const [account, [first, ...others]] of itemsByAccount) {
        itemsByAccount.delete(account)
        if (others.length > 0) itemsByAccount.set(account, others)
        size -= 1
        return first
      }
      return undefined
    },
    size: () => size,
  }
}
