import type { Clock } from '@gatehouse/runtime'
import { policy, type Timeouts } from '../policy.ts'
import { createConnectionQueue, type ConnectionQueue } from './connection-queue.ts'
import { createDepartedReplicas } from './departed-replicas.ts'
import {
  closePools,
  destroyPools,
  openPools,
  openReplica,
  type Lane,
  type PoolOptions,
  type Pools,
  type Replica,
} from './replica.ts'

export type Replicas = AsyncDisposable & {
  readonly size: number
  readonly queues: Readonly<Record<Lane, ConnectionQueue>>
  /** Replaces the replicas. Requests under way end. Old replicas get work only while no new one can be reached. */
  setOrigins(origins: readonly string[]): void
  /** Takes turns over free replicas outside `tried`: healthy ones first, then ejected ones, then those that left. */
  pick(lane: Lane, tried?: readonly Replica[]): Replica | undefined
  /** Replicas may have been replaced since `tried` was filled. */
  hasOther(tried: readonly Replica[]): boolean
  candidates(): Iterable<Replica>
  markHealthy(replica: Replica): void
  markFailed(replica: Replica): void
  /** Closes idle connections here first: a request on one that the stopping replica closes would be lost. */
  markLeaving(replica: Replica): void
}

type ReplicaDeps = PoolOptions & {
  clock: Clock
  timeouts: Pick<Timeouts, 'queueMs'>
  /** Called when a replica failed. */
  onFailed?: () => void
}

/** Opens the connection pools of a service. Requests serve as health checks. */
export function openReplicas(origins: readonly string[], deps: ReplicaDeps): Replicas {
  let replicas: Replica[] = []
  const retired = new Set<Pools>()
  const connections = { json: deps.capacity.connectionsPerReplica, file: deps.capacity.fileConnectionsPerReplica }
  let turn = 0

  function isEjected({ failures, ejectedUntil, leavingUntil }: Replica): boolean {
    const now = deps.clock.now()
    return (failures > 0 && ejectedUntil > now) || leavingUntil > now
  }

  function choose(lane: Lane | undefined, tried: readonly Replica[], includeEjected: boolean): Replica | undefined {
    for (let step = 0; step < replicas.length; step += 1) {
      const replica = replicas[(turn + step) % replicas.length]
      if (!replica || tried.includes(replica) || !hasConnection(replica, lane)) continue
      if (!includeEjected && isEjected(replica)) continue
      turn = (turn + step + 1) % replicas.length
      return replica
    }
    return undefined
  }

  const hasConnection = ({ activeRequests }: Replica, lane: Lane | undefined): boolean =>
    lane === undefined || activeRequests[lane] < connections[lane]
  const next = (lane: Lane | undefined, tried: readonly Replica[]): Replica | undefined =>
    choose(lane, tried, false) ??
    choose(lane, tried, true) ??
    departed.list().find((replica) => !tried.includes(replica) && hasConnection(replica, lane))

  function openQueue(lane: Lane): ConnectionQueue {
    return createConnectionQueue({
      // Without any replica requests are refused and do not wait.
      capacity: () => (replicas.filter((one) => !isEjected(one)).length || replicas.length || 1) * connections[lane],
      waitMs: deps.timeouts.queueMs,
      maxWaiting: policy.waitingRequests,
      maxWaitingPerNetwork: policy.waitingRequestsPerNetwork,
    })
  }
  const queues = { json: openQueue('json'), file: openQueue('file') }

  function retire({ pools }: Replica): void {
    retired.add(pools)
    void closePools(pools)
      .catch(() => undefined)
      .finally(() => retired.delete(pools))
  }

  function reopen(replica: Replica): void {
    retire(replica)
    replica.pools = openPools(replica.origin, deps)
  }

  const departed = createDepartedReplicas(policy.departedMs, retire)
  function depart(replica: Replica): void {
    reopen(replica)
    departed.add(replica)
  }

  function setOrigins(wanted: readonly string[]): void {
    const known = new Map(replicas.map((replica) => [replica.origin, replica]))
    replicas = wanted.map((origin) => known.get(origin) ?? departed.takeBack(origin) ?? openReplica(origin, deps))
    for (const replica of known.values()) if (!replicas.includes(replica)) depart(replica)
    for (const queue of Object.values(queues)) queue.grant()
  }

  setOrigins(origins)
  return {
    get size() {
      return replicas.length
    },
    queues,
    setOrigins,
    pick: (lane, tried = []) => next(lane, tried),
    hasOther: (tried) => [...replicas, ...departed.list()].some((replica) => !tried.includes(replica)),
    *candidates() {
      const tried: Replica[] = []
      for (let replica = next(undefined, tried); replica; replica = next(undefined, tried)) {
        tried.push(replica)
        yield replica
      }
    },
    markHealthy: (replica) => (replica.failures = 0),
    markFailed: (replica) => {
      const ejectionMs = Math.min(policy.ejectionMs * 2 ** Math.min(replica.failures, 10), policy.maxEjectionMs)
      replica.failures += 1
      replica.ejectedUntil = deps.clock.now() + ejectionMs
      deps.onFailed?.()
    },
    markLeaving: (replica) => {
      const now = deps.clock.now()
      const others = replicas.filter((other) => other !== replica && !isEjected(other))
      if (replica.leavingUntil > now || others.length === 0 || !replicas.includes(replica)) return
      replica.leavingUntil = now + policy.leavingMs
      reopen(replica)
    },
    [Symbol.asyncDispose]: async () => {
      // Their clients have been answered.
      departed[Symbol.dispose]()
      const open = [...replicas, ...departed.list()].map(({ pools }) => pools)
      await Promise.all([...retired, ...open].map(destroyPools))
    },
  }
}
