import { Pool } from 'undici'
import type { Clock } from '@gatehouse/runtime'
import { policy, type Patience } from '../policy.ts'

/** One running copy of a service. */
export type Replica = {
  readonly origin: string
  readonly pool: Pool
  underWay: number
  failures: number
  restsUntil: number
}

/** The copies of a service, and which of them answer. */
export type Replicas = AsyncDisposable & {
  readonly size: number
  /** The next in turn that is not among `tried`: one that answers and has room, else one that rests; else undefined. */
  pick(tried?: readonly Replica[]): Replica | undefined
  /** It could not be reached or did not answer: others are asked first for a while. */
  rest(replica: Replica): void
  /** It answered. */
  praise(replica: Replica): void
}

type Needs = { clock: Clock; patience: Pick<Patience, 'connectMs' | 'bodyMs'> }

/** Keeps connections to each replica of one service. Health is learnt from the requests themselves. */
export function openReplicas(origins: readonly string[], { clock, patience }: Needs): Replicas {
  const replicas = origins.map((origin): Replica => ({
    origin,
    pool: new Pool(origin, {
      connections: policy.connectionsPerReplica,
      pipelining: 1,
      keepAliveTimeout: 30_000,
      connect: { timeout: patience.connectMs },
      bodyTimeout: patience.bodyMs,
    }),
    underWay: 0,
    failures: 0,
    restsUntil: 0,
  }))
  let turn = 0

  const choose = (tried: readonly Replica[], restingToo: boolean): Replica | undefined => {
    for (let step = 0; step < replicas.length; step += 1) {
      const replica = replicas[(turn + step) % replicas.length]!
      if (replica.underWay >= policy.requestsPerReplica || tried.includes(replica)) continue
      if (!restingToo && replica.failures > 0 && replica.restsUntil > clock.now()) continue
      turn = (turn + step + 1) % replicas.length
      return replica
    }
    return undefined
  }

  return {
    size: replicas.length,
    pick: (tried = []) => choose(tried, false) ?? choose(tried, true),
    rest: (replica) => {
      const restMs = Math.min(policy.restMs * 2 ** Math.min(replica.failures, 10), policy.restMostMs)
      replica.failures += 1
      replica.restsUntil = clock.now() + restMs
    },
    praise: (replica) => (replica.failures = 0),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(replicas.map(({ pool }) => pool.close()))
    },
  }
}
