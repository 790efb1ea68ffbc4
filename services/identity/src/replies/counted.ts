import { isRefusal } from '@gatehouse/runtime'

type Counter = { inc(labels: { outcome: string }): void }

/** Counts how it ended: as `outcomeOf` says, by the code of a refusal, or as failed. */
export async function counted<T>(counter: Counter, result: Promise<T>, outcomeOf: (value: T) => string): Promise<T> {
  try {
    const value = await result
    counter.inc({ outcome: outcomeOf(value) })
    return value
  } catch (error) {
    counter.inc({ outcome: isRefusal(error) ? error.code : 'failed' })
    throw error
  }
}
