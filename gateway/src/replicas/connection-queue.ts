import { createFairQueue, createQuota } from '@gatehouse/runtime'

/** One client network holds at most half of the connections. Waiting networks take turns. */
export type ConnectionQueue = {
  tryTake(network: string): boolean
  /** Resolves to false after the time limit, and when it is cancelled. */
  wait(network: string): { granted: Promise<boolean>; cancel: () => void }
  release(network: string): void
  /** To be called when the capacity has grown. */
  grant(): void
  waiting(): number
}

type QueueOptions = {
  /** Smaller while a replica is ejected. */
  capacity: () => number
  waitMs: number
  maxWaiting: number
  maxWaitingPerNetwork: number
}

export function createConnectionQueue(options: QueueOptions): ConnectionQueue {
  const { capacity, waitMs, maxWaiting, maxWaitingPerNetwork } = options
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
    tryTake: (network) => held.take(network),
    grant,
    waiting: queue.size,
    wait: (network) => {
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
    release: (network) => {
      held.release(network)
      grant()
    },
  }
}
