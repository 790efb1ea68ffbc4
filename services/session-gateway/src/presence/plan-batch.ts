import { isHere, type Connections, type LocalUser } from '../connections.ts'

/** Users to be settled together; `arriving` is what their new sockets wait for. */
export type Batch = Map<LocalUser, { isArrival: boolean; arriving: LocalUser['arriving'] }>

/**
 * Takes up to `limit` users off the queue. What is to be done with each follows from how things stand now: who has
 * sockets arrives unless known to be present; who is due departs if known to be present, and then only sockets that were
 * let in count.
 */
export function planBatch(queue: Set<LocalUser>, connections: Connections, limit: number): Batch {
  const batch: Batch = new Map()
  for (const user of queue) {
    if (batch.size >= limit) break
    queue.delete(user)
    const { arriving } = user
    user.arriving = undefined
    const isLeaving = user.isDue && !isHere(user)
    const isArrival = user.sockets.size > 0 && (arriving !== undefined || !isLeaving)
    if (isArrival) {
      if (arriving !== undefined || !user.present) batch.set(user, { isArrival, arriving })
    } else if (isLeaving && user.present) {
      batch.set(user, { isArrival, arriving })
    } else {
      arriving?.resolve(undefined)
      connections.forget(user)
    }
  }
  return batch
}
