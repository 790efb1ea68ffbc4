import { Pool } from 'undici'
import type { Clock } from '@gatehouse/runtime'
import { policy, type Capacity, type Timeouts } from '../policy.ts'
import { createConnectionQueue, type ConnectionQueue } from './connection-queue.ts'

/** What a connection is for: JSON, which comes and goes at once, or uploads and files, which take as long as the client. */
export type Lane = 'json' | 'file'

/** One running instance of a service. */
export type Replica = {
  readonly origin: string
  readonly pools: Readonly<Record<Lane | 'states', Pool>>
  activeRequests: Record<Lane, number>
  /** In a row. */
  failures: number
  ejectedUntil: number
}

/** The replicas of one service, with passive health checks. */
export type Replicas = AsyncDisposable & {
  readonly size: number
  /** Grants the connections that `pick` then finds. */
  readonly queues: Readonly<Record<Lane, ConnectionQueue>>
  /**
   * The next replica in turn that is not among `tried` and has a free connection: a healthy one, else an ejected one, else
   * undefined.
   */
  pick(lane: Lane, tried?: readonly Replica[]): Replica | undefined
  /** Replicas to try one after the other, each once. */
  candidates(): Iterable<Replica>
  markHealthy(replica: Replica): void
  /** Ejects a replica that could not be reached or did not respond. */
  markFailed(replica: Replica): void
}

type ReplicaDeps = { clock: Clock; timeouts: Pick<Timeouts, 'connectMs' | 'bodyMs' | 'queueMs'>; capacity: Capacity }

/** Opens a connection pool for each replica of a service. The requests themselves are the health checks. */
export function openReplicas(origins: readonly string[], deps: ReplicaDeps): Replicas {
  const replicas = origins.map((origin) => openReplica(origin, deps))
  const connections = { json: deps.capacity.connectionsPerReplica, file: deps.capacity.fileConnectionsPerReplica }
  let turn = 0

  const isEjected = ({ failures, ejectedUntil }: Replica): boolean => failures > 0 && ejectedUntil > deps.clock.now()

  function choose(lane: Lane | undefined, tried: readonly Replica[], includeEjected: boolean): Replica | undefined {
    for (let step = 0; step < replicas.length; step += 1) {
      const replica = replicas[(turn + step) % replicas.length]
      if (!replica || tried.includes(replica)) continue
      if (lane && replica.activeRequests[lane] >= connections[lane]) continue
      if (!includeEjected && isEjected(replica)) continue
      turn = (turn + step + 1) % replicas.length
      return replica
    }
    return undefined
  }

  const next = (lane: Lane | undefined, tried: readonly Replica[]): Replica | undefined =>
    choose(lane, tried, false) ?? choose(lane, tried, true)

  function openQueue(lane: Lane): ConnectionQueue {
    return createConnectionQueue({
      capacity: () => (replicas.filter((one) => !isEjected(one)).length || replicas.length) * connections[lane],
      waitMs: deps.timeouts.queueMs,
      maxWaiting: policy.waitingRequests,
      maxWaitingPerNetwork: policy.waitingRequestsPerNetwork,
    })
  }

  return {
    size: replicas.length,
    queues: { json: openQueue('json'), file: openQueue('file') },
    pick: (lane, tried = []) => next(lane, tried),
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
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(replicas.flatMap(({ pools }) => Object.values(pools).map((pool) => pool.close())))
    },
  }
}

function openReplica(origin: string, { timeouts, capacity }: ReplicaDeps): Replica {
  const openPool = (connections: number): Pool =>
    new Pool(origin, {
      connections,
      pipelining: 1,
      keepAliveTimeout: policy.upstreamKeepAliveMs,
      connect: { timeout: timeouts.connectMs },
      bodyTimeout: timeouts.bodyMs,
    })
  const pools = {
    json: openPool(capacity.connectionsPerReplica),
    file: openPool(capacity.fileConnectionsPerReplica),
    states: openPool(policy.stateConnectionsPerReplica),
  }
  return { origin, pools, activeRequests: { json: 0, file: 0 }, failures: 0, ejectedUntil: 0 }
}
