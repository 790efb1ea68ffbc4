import { systemTimer, type Timer } from './time.ts'

export type PeriodicTask = ReturnType<typeof startPeriodicTask>

type Options = {
  name: string
  everyMs: number
  /** Until the first run; a whole period if it is left out. */
  firstAfterMs?: number
  log: { warn(fields: object, message: string): void }
  timer?: Timer
}

/** Runs never overlap. `everyMs` is from the end of a run to the next start. A failure is logged. Disposal waits for the current run. */
export function startPeriodicTask(options: Options, work: () => Promise<unknown>) {
  const { name, everyMs, firstAfterMs = everyMs, log, timer = systemTimer } = options
  let stopped = false
  let pending: unknown
  let running = Promise.resolve()
  let queued: Promise<void> | undefined

  async function run(): Promise<void> {
    queued = undefined
    timer.clear(pending)
    if (stopped) return
    try {
      await work()
    } catch (err) {
      log.warn({ err, task: name }, 'periodic task failed')
    }
    schedule(everyMs)
  }

  function schedule(afterMs: number): void {
    if (!stopped) pending = timer.set(() => void runNow(), afterMs)
  }

  function runNow(): Promise<void> {
    queued ??= running = running.then(run)
    return queued
  }

  schedule(firstAfterMs)
  return {
    /** Runs now, or once more after the current run. Never rejects. */
    runNow,
    async [Symbol.asyncDispose](): Promise<void> {
      stopped = true
      timer.clear(pending)
      await running
    },
  }
}
