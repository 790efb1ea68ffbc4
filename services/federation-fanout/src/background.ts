import type { Log } from '@gatehouse/service-kit'

/** Work that no caller waits for. Closing waits for what is under way. */
export type Background = AsyncDisposable & {
  /** Starts the work unless work of that name is under way. A failure is logged. */
  start(name: string, work: () => Promise<unknown>): void
}

export function createBackground(log: Pick<Log, 'warn'>): Background {
  const underWay = new Map<string, Promise<void>>()
  const attempt = async (name: string, work: () => Promise<unknown>) => {
    try {
      await work()
    } catch (error) {
      log.warn({ error, work: name }, 'background work failed')
    } finally {
      underWay.delete(name)
    }
  }
  return {
    start: (name, work) => {
      if (!underWay.has(name)) underWay.set(name, attempt(name, work))
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(underWay.values())
    },
  }
}
