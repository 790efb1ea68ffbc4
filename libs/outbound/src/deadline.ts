import { OutboundFailure } from './outbound-failure.ts'

export type Deadline = Disposable & {
  signal: AbortSignal
  /** Settles with the promise, or rejects at the deadline or when the caller gives up, whichever is first. */
  race<T>(promise: Promise<T>): Promise<T>
}

/**
 * One limit, in milliseconds, over everything that happens until it is disposed. The signal's reason is an
 * OutboundFailure `timeout`, or the reason of the caller's own signal when that came first.
 */
export function startDeadline(timeoutMs: number, caller?: AbortSignal): Deadline {
  const controller = new AbortController()
  const { signal } = controller
  const giveUp = () => controller.abort(caller?.reason)
  const expire = () => controller.abort(new OutboundFailure('timeout', `No answer within ${timeoutMs} ms`))
  const timer = setTimeout(expire, timeoutMs)
  if (caller?.aborted) giveUp()
  caller?.addEventListener('abort', giveUp, { once: true })
  return {
    signal,
    race: (promise) =>
      new Promise((resolve, reject) => {
        const stop = () => reject(signal.reason as Error)
        if (signal.aborted) stop()
        signal.addEventListener('abort', stop, { once: true })
        promise.then(resolve, reject)
      }),
    [Symbol.dispose]: () => {
      clearTimeout(timer)
      caller?.removeEventListener('abort', giveUp)
    },
  }
}
