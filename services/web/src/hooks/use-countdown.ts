import { useEffect, useState } from 'react'
import { client } from '../client.ts'
import { useStore } from './use-store.ts'

/** Seconds left, and the function that starts a countdown of so many seconds. */
export function useCountdown(): [left: number, start: (seconds: number) => void] {
  const [countdown] = useState(() => client.createCountdown())
  useEffect(() => () => countdown.stop(), [countdown])
  return [useStore(countdown), countdown.start]
}
