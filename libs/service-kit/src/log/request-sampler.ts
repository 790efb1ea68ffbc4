import type { Clock } from '@gatehouse/runtime'
import { requestLinesPerSecond, sampledRequests } from '../policy.ts'

/** Whether this request's line is written: beyond `requestLinesPerSecond` one in `sampledRequests` is. */
export function createRequestSampler(clock: Clock): () => boolean {
  let second = 0
  let count = 0
  return () => {
    const now = Math.floor(clock.now() / 1000)
    if (now !== second) {
      second = now
      count = 0
    }
    count += 1
    return count <= requestLinesPerSecond || count % sampledRequests === 0
  }
}
