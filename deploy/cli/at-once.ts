/** Works on several items at a time. After a failure it begins no other one, and throws. */
export async function atOnce<T>(items: Iterable<T>, count: number, work: (item: T) => Promise<void>): Promise<void> {
  const rest = items[Symbol.iterator]()
  let isFailed = false
  const worker = async () => {
    for (let next = rest.next(); !next.done && !isFailed; next = rest.next()) {
      await work(next.value).catch((error: unknown) => {
        isFailed = true
        throw error
      })
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: count }, worker))
  for (const end of ends) if (end.status === 'rejected') throw end.reason as Error
}

/** Files at a time: requests to a store take their time, and a disk has its limits. */
export const filesAtOnce = 16
