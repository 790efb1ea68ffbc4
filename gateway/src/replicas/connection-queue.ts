import { createFairQueue, createQuota } from '@gatehouse/runtime'

export type ConnectionQueue = ReturnType<typeof createConnectionQueue>

/** `capacity` is smaller while a replica is ejected. */
type QueueOptions = { capacity: () => number; waitMs: number; maxWaiting: number; maxWaitingPerNetwork: number }

/** One client network holds at most half of the connections. Waiting networks take turns. */
export function createConnectionQueue({ capacity, waitMs, maxWaiting, maxWaitingPerNetwork }: QueueOptions) {
  const held = createQuota(() => Math.ceil(capacity() / 2), capacity)
  const queue = createFairQueue<(granted: boolean) => void>({ capacity: maxWaiting, perSource: maxWaitingPerNetwork })

  function grant(): void {
    while (queue.size() > 0 && held.total() < capacity()) {
      const settle = queue.take(held.take)
      if (!settle) return
      settle(true)
    }
  }
  return {
    tryTake: (network: string): boolean => held.take(network),
    /** To be called when the capacity has grown. */
    grant,
    waiting: queue.size,
    /** Resolves to false after the time limit, and when it is cancelled. */
    wait: (network: string) => {
      const { promise: granted, resolve } = Promise.withResolvers<boolean>()
      const settle = (isGranted: boolean): void => {
        clearTimeout(timer)
        resolve(isGranted)
      }
      const cancel = (): void => {
        queue.remove(network, settle)
        settle(false)
      }
      const timer = setTimeout(cancel, waitMs)
      if (!queue.push(network, settle)) settle(false)
      return { granted, cancel }
    },
    release: (network: string): void => {
      held.release(network)
      grant()
    },
  }
}
