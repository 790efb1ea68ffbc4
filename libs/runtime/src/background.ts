export type BackgroundTasks = ReturnType<typeof createBackgroundTasks>

/** Closing waits for running work. */
export function createBackgroundTasks(log: { warn(fields: object, message: string): void }) {
  const underWay = new Map<string, Promise<void>>()
  const attempt = async (name: string, work: () => Promise<unknown> | undefined) => {
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
    /** Ignores a running name. A failure is logged. */
    start: (name: string, work: () => Promise<unknown> | undefined): void => {
      if (!underWay.has(name)) underWay.set(name, attempt(name, work))
    },
    idle,
    [Symbol.asyncDispose]: idle,
  }
}
