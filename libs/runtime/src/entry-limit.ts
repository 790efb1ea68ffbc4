/** Options of an LRUCache. Its own `max` would allocate the memory of all entries at once, which takes longer than to start a service. */
export const entryLimit = (entries: number): { maxSize: number; sizeCalculation: () => number } => ({
  maxSize: entries,
  sizeCalculation: () => 1,
})
