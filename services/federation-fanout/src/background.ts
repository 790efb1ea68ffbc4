import type { Log } from '@gatehouse/service-kit'

/** Work that no caller waits for. Closing waits for what is under way. */
export type BackgroundTasks = AsyncDisposable & {
  /** Starts the work unless work of that name is under way. A failure is logged. */
  start(name: string, work: () => Promise<unknown>): void
  /** Resolves when no work is under way. */
  idle(): Promise<void>
}

export function createBackgroundTasks(log: Pick<Log, 'warn'>): BackgroundTasks {
  const underWay = new Map<string, Promise<void>>()
  const attempt = async (name: string, work: () => Promise<unknown>) => {
    try {
      await work()
    } catch (error) {
      log.warn({ err: error, work: name }, 'background task failed')
    } finally {
      underWay.delete(name)
    }
  }
  const idle = async () => {
    while (underWay.size > 0) await Promise.all(underWay.values())
  }
  return {
    start: (name, work) => {
      if (!underWay.has(name)) underWay.set(name, attempt(name, work))
    },
    idle,
    [Symbol.asyncDispose]: idle,
  }
}
