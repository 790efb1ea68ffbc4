import type { Log } from '@gatehouse/service-kit'

export type Repetition = AsyncDisposable & {
  /** Does it now, or once more after what is under way; resolves when that is done. */
  soon(): Promise<void>
}

/**
 * Does `work` again and again, with a pause of `everyMs` between two; what fails is logged and comes again. Disposing it
 * waits for the work under way.
 */
export function repeat(what: { name: string; everyMs: number; log: Log }, work: () => Promise<void>): Repetition {
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let underWay = Promise.resolve()

  async function once(): Promise<void> {
    clearTimeout(timer)
    if (stopped) return
    try {
      await work()
    } catch (error) {
      what.log.warn({ error, task: what.name }, 'a task failed and comes again')
    }
    clearTimeout(timer)
    if (!stopped) timer = setTimeout(() => void soon(), what.everyMs).unref()
  }

  function soon(): Promise<void> {
    underWay = underWay.then(once)
    return underWay
  }

  timer = setTimeout(() => void soon(), what.everyMs).unref()
  return {
    soon,
    async [Symbol.asyncDispose]() {
      stopped = true
      clearTimeout(timer)
      await underWay
    },
  }
}
