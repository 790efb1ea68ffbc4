import { Pool } from 'undici'
import type { Clock } from '@gatehouse/runtime'
import { policy, type Timeouts } from '../policy.ts'

/** One running instance of a service. */
export type Replica = {
  readonly origin: string
  readonly pool: Pool
  activeRequests: number
  /** In a row. */
  failures: number
  ejectedUntil: number
}

/** The replicas of one service, with passive health checks. */
export type Replicas = AsyncDisposable & {
  readonly size: number
  /**
   * The next replica in turn that is not among `tried` and has room for another request: a healthy one, else an ejected
   * one, else undefined.
   */
  pick(tried?: readonly Replica[]): Replica | undefined
  /** Replicas to try one after the other, each once. */
  candidates(): Iterable<Replica>
  markHealthy(replica: Replica): void
  /** Ejects a replica that could not be reached or did not respond. */
  markFailed(replica: Replica): void
}

type ReplicaDeps = { clock: Clock; timeouts: Pick<Timeouts, 'connectMs' | 'bodyMs'> }

/** Opens a connection pool for each replica of a service. The requests themselves are the health checks. */
export function openReplicas(origins: readonly string[], deps: ReplicaDeps): Replicas {
  const replicas = origins.map((origin) => openReplica(origin, deps))
  let turn = 0

  function choose(tried: readonly Replica[], includeEjected: boolean): Replica | undefined {
    for (let step = 0; step < replicas.length; step += 1) {
      const replica = replicas[(turn + step) % replicas.length]
      if (!replica || replica.activeRequests >= policy.requestsPerReplica || tried.includes(replica)) continue
      if (!includeEjected && replica.failures > 0 && replica.ejectedUntil > deps.clock.now()) continue
      turn = (turn + step + 1) % replicas.length
      return replica
    }
    return undefined
  }

  const pick = (tried: readonly Replica[] = []): Replica | undefined => choose(tried, false) ?? choose(tried, true)
  return {
    size: replicas.length,
    pick,
    *candidates() {
      const tried: Replica[] = []
      for (let replica = pick(); replica; replica = pick(tried)) {
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
      await Promise.all(replicas.map(({ pool }) => pool.close()))
    },
  }
}

function openReplica(origin: string, { timeouts }: ReplicaDeps): Replica {
  const pool = new Pool(origin, {
    connections: policy.connectionsPerReplica,
    pipelining: 1,
    keepAliveTimeout: policy.upstreamKeepAliveMs,
    connect: { timeout: timeouts.connectMs },
    bodyTimeout: timeouts.bodyMs,
  })
  return { origin, pool, activeRequests: 0, failures: 0, ejectedUntil: 0 }
}
