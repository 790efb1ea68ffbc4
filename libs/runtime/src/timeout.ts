/** Rejects with `onTimeout` after `timeoutMs`. The work itself goes on; its outcome is ignored. */
export async function withTimeout<T>(
  work: Promise<T> | (() => T | Promise<T>),
  timeoutMs: number,
  onTimeout: () => Error,
): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(onTimeout()), timeoutMs)
  try {
    return await raceAgainst(late.promise, work)
  } finally {
    clearTimeout(timer)
  }
}

/** Rejects with the reason of `signal`. The work itself goes on; its outcome is ignored. */
export async function abortable<T>(work: Promise<T> | (() => T | Promise<T>), signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason as Error)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await raceAgainst(aborted.promise, work)
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

async function raceAgainst<T>(limit: Promise<never>, work: Promise<T> | (() => T | Promise<T>)): Promise<T> {
  limit.catch(() => undefined)
  const running = typeof work === 'function' ? (async () => await work())() : work
  running.catch(() => undefined)
  return await Promise.race([limit, running])
}
