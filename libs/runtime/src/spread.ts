import { delay, type Timer } from './timer.ts'

const msPerItem = 2
const pauseMs = 20

type Limits = { maxMs: number; signal?: AbortSignal | undefined }

/** Takes 2 ms for each item, and at most `maxMs` for all of them. The abort of `signal` ends it early. */
export async function runSpread<Item>(
  timer: Timer,
  items: readonly Item[],
  { maxMs, signal }: Limits,
  run: (item: Item) => void,
): Promise<void> {
  const parts = Math.max(1, Math.floor(Math.min(maxMs, items.length * msPerItem) / pauseMs))
  const perPart = Math.ceil(items.length / parts)
  for (let first = 0; first < items.length; first += perPart) {
    if (first > 0) await delay(timer, pauseMs)
    if (signal?.aborted) return
    for (const item of items.slice(first, first + perPart)) run(item)
  }
}
