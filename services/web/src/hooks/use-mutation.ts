import { isAborted, RateLimited } from '@gatehouse/client'
import { useCallback, useEffect, useRef, useState } from 'react'
import { useClient, useStore } from '../context.ts'

export type Mutation = {
  busy: boolean
  /** Why the last run failed, until the next run; a rate limit sets `waitSeconds` instead. */
  error: Error | null
  /** Seconds until the rate limit allows another attempt, else 0. */
  waitSeconds: number
  /** Runs unless busy or rate limited; resolves to whether it succeeded. Unmounting aborts it without an error. */
  run(work: (signal: AbortSignal) => Promise<unknown>): Promise<boolean>
  clear(): void
}

/** The state of one request that changes something: progress, error, rate limit. */
export function useMutation(): Mutation {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const [waitSeconds, startWait] = useCountdown()
  const current = useRef<AbortController>(null)
  useEffect(() => () => current.current?.abort(), [])

  const run = useCallback(
    async (work: (signal: AbortSignal) => Promise<unknown>) => {
      if (current.current || waitSeconds > 0) return false
      const controller = (current.current = new AbortController())
      setBusy(true)
      setError(null)
      try {
        await work(controller.signal)
        return true
      } catch (failure) {
        if (isAborted(failure)) return false
        if (failure instanceof RateLimited) startWait(failure.retryAfter)
        else setError(failure instanceof Error ? failure : new Error(String(failure)))
        return false
      } finally {
        current.current = null
        setBusy(false)
      }
    },
    [waitSeconds, startWait],
  )
  const clear = useCallback(() => setError(null), [])
  return { busy, error, waitSeconds, run, clear }
}

/** Seconds left, and a function that starts a countdown. */
function useCountdown(): [left: number, start: (seconds: number) => void] {
  const client = useClient()
  const [countdown] = useState(() => client.createCountdown())
  useEffect(() => () => countdown.stop(), [countdown])
  return [useStore(countdown), countdown.start]
}
