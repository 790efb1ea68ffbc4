import type { Replica } from './replica.ts'

export type DepartedReplicas = Disposable & {
  add(replica: Replica): void
  takeBack(origin: string): Replica | undefined
  list(): Replica[]
}

/** `onForgotten` is not called for a replica taken back. */
export function createDepartedReplicas(keepMs: number, onForgotten: (replica: Replica) => void): DepartedReplicas {
  const departed = new Map<string, { replica: Replica; timer: NodeJS.Timeout }>()
  return {
    add: (replica) => {
      const timer = setTimeout(() => {
        departed.delete(replica.origin)
        onForgotten(replica)
      }, keepMs).unref()
      departed.set(replica.origin, { replica, timer })
    },
    takeBack: (origin) => {
      const found = departed.get(origin)
      clearTimeout(found?.timer)
      departed.delete(origin)
      return found?.replica
    },
    list: () => [...departed.values()].map(({ replica }) => replica),
    [Symbol.dispose]: () => {
      for (const { timer } of departed.values()) clearTimeout(timer)
    },
  }
}
