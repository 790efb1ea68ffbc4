/** One client network holds at most half of the connections. Waiting networks take turns. */
export type ConnectionQueue = {
  tryTake(network: string): boolean
  /** Resolves to false after the time limit. */
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

type Settle = (granted: boolean) => void

export function createConnectionQueue(options: QueueOptions): ConnectionQueue {
  const heldBy = new Map<string, number>()
  const waitingOf = new Map<string, Set<Settle>>()
  let held = 0
  let waiting = 0

  function tryTake(network: string): boolean {
    const capacity = options.capacity()
    const own = heldBy.get(network) ?? 0
    if (held >= capacity || own >= Math.ceil(capacity / 2)) return false
    held += 1
    heldBy.set(network, own + 1)
    return true
  }

  function leave(network: string, settle: Settle): void {
    const own = waitingOf.get(network)
    if (!own?.delete(settle)) return
    waiting -= 1
    if (own.size === 0) waitingOf.delete(network)
  }

  function grantNext(): void {
    for (const [network, [settle]] of waitingOf) {
      if (!settle) continue
      if (!tryTake(network)) {
        if (held >= options.capacity()) return
        continue
      }
      const others = waitingOf.get(network)
      leave(network, settle)
      if (others && others.size > 0) {
        waitingOf.delete(network)
        waitingOf.set(network, others)
      }
      return settle(true)
    }
  }

  return {
    tryTake,
    grant: () => {
      for (let before = waiting + 1; waiting < before;) {
        before = waiting
        if (waiting > 0) grantNext()
      }
    },
    waiting: () => waiting,
    wait: (network) => {
      const own = waitingOf.get(network) ?? new Set<Settle>()
      if (waiting >= options.maxWaiting || own.size >= options.maxWaitingPerNetwork) {
        return { granted: Promise.resolve(false), cancel: () => undefined }
      }
      let resolveGranted: Settle = () => undefined
      const granted = new Promise<boolean>((resolve) => (resolveGranted = resolve))
      const settle: Settle = (isGranted) => {
        clearTimeout(timer)
        resolveGranted(isGranted)
      }
      const cancel = (): void => {
        leave(network, settle)
        settle(false)
      }
      const timer = setTimeout(cancel, options.waitMs)
      own.add(settle)
      waiting += 1
      waitingOf.set(network, own)
      return { granted, cancel }
    },
    release: (network) => {
      held -= 1
      const own = (heldBy.get(network) ?? 0) - 1
      if (own > 0) heldBy.set(network, own)
      else heldBy.delete(network)
      if (waiting > 0) grantNext()
    },
  }
}
