import { InstanceUnreachable } from '../calls/operator-calls.ts'
import { CommandFailure, ReportedFailure } from './failure.ts'
import type { Result } from './invocation.ts'

type Left<Item> = { item: Item; reason: string; error: Error }
type Outcome<Item> = {
  left: Left<Item>[]
  /** Ended the command before every item was tried. */
  failure: Error | undefined
  /** `left` because of `failure`. */
  remaining: number
  total: number
}
type Acts<Item> = {
  /** Gives those that a busy instance left. */
  act(part: Item[]): Promise<Item[] | void>
  atOnce?: number
}

/**
 * Those that are rejected stand in no other's way. What a busy instance leaves is tried once more at the end. If the instance is busy
 * then too, or does not answer, the rest is left. Throws the failure if nothing came of any.
 */
export async function actOnEach<Item>(items: readonly Item[], { act, atOnce = 1 }: Acts<Item>): Promise<Outcome<Item>> {
  const left: Left<Item>[] = []
  let failure: Error | undefined
  let remaining = 0
  const leave = (part: readonly Item[], error: Error, reason = error.message) =>
    void left.push(...part.map((item) => ({ item, reason, error })))
  const fail = (part: readonly Item[], error: Error) => {
    failure = error
    remaining += part.length
    leave(part, error)
  }
  const work = async (waiting: readonly Item[], isLast: boolean): Promise<Item[]> => {
    const again: Item[] = []
    for (let at = 0; at < waiting.length; at += atOnce) {
      const part = waiting.slice(at, at + atOnce)
      if (failure) {
        remaining += part.length
        leave(part, failure, isLast ? 'not tried again' : 'not tried')
        continue
      }
      try {
        const busy = (await act(part)) ?? []
        if (!isLast) again.push(...busy)
        else if (busy.length > 0) fail(busy, new CommandFailure('unreachable', 'unavailable'))
      } catch (error) {
        if (error instanceof InstanceUnreachable) fail(part, error)
        else if (!(error instanceof CommandFailure)) throw error
        else if (error.kind === 'refused' || error.kind === 'unknown') leave(part, error)
        else if (error.kind !== 'unreachable' || isLast) fail(part, error)
        else again.push(...part)
      }
    }
    return again
  }
  await work(await work(items, false), true)
  if (failure && remaining === items.length) throw failure
  return { left, failure, remaining, total: items.length }
}

/** Throws ReportedFailure with the result if a failure ended the command. */
export function concluded(result: Result, { failure, remaining, total }: Outcome<unknown>): Result {
  if (!failure) return result
  throw new ReportedFailure(failure, `${remaining} of ${total} remain: run the command again for them`, result)
}
