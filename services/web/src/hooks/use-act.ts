import { isAborted, RateLimited } from '@gatehouse/client'
import { useCallback, useEffect, useRef, useState } from 'react'
import { useCountdown } from './use-countdown.ts'

export type Act = {
  busy: boolean
  /** What went wrong last, until the next run; a rate limit shows as `waitSeconds` instead. */
  error: Error | null
  /** Seconds until the limit allows another try; 0 when there is none. */
  waitSeconds: number
  /** Runs unless busy or limited. Resolves to whether it succeeded; leaving the page aborts it silently. */
  run(work: (signal: AbortSignal) => Promise<unknown>): Promise<boolean>
  clear(): void
}

/** One thing a person can do, with its progress and its failure. */
export function useAct(): Act {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const [waitSeconds, startWait] = useCountdown()
  const running = useRef<AbortController>(null)
  useEffect(() => () => running.current?.abort(), [])

  const run = useCallback(
    async (work: (signal: AbortSignal) => Promise<unknown>) => {
      if (running.current || waitSeconds > 0) return false
      const ending = (running.current = new AbortController())
      setBusy(true)
      setError(null)
      try {
        await work(ending.signal)
        return true
      } catch (failure) {
        if (isAborted(failure)) return false
        if (failure instanceof RateLimited) startWait(failure.retryAfter)
        else setError(failure instanceof Error ? failure : new Error(String(failure)))
        return false
      } finally {
        running.current = null
        setBusy(false)
      }
    },
    [waitSeconds, startWait],
  )
  const clear = useCallback(() => setError(null), [])
  return { busy, error, waitSeconds, run, clear }
}
