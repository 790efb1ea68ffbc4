import type { Socket } from 'node:net'
import type { OpenConnection } from '@gatehouse/service-kit'
import { Pool, type buildConnector } from 'undici'
import { policy, type Capacity, type Timeouts } from '../policy.ts'

/** Files take as long as the client. */
export type Lane = 'json' | 'file'

export type Pools = Readonly<Record<Lane | 'states', Pool>>

export type Replica = {
  readonly origin: string
  pools: Pools
  activeRequests: Record<Lane, number>
  failures: number
  ejectedUntil: number
  leavingUntil: number
}

export type PoolOptions = {
  timeouts: Pick<Timeouts, 'connectMs' | 'bodyMs'>
  capacity: Capacity
  inProcess?: InProcessReplicas | undefined
}

/** By origin. */
export type InProcessReplicas = ReadonlyMap<string, OpenConnection>

export function openReplica(origin: string, options: PoolOptions): Replica {
  const activeRequests = { json: 0, file: 0 }
  return { origin, pools: openPools(origin, options), activeRequests, failures: 0, ejectedUntil: 0, leavingUntil: 0 }
}

export function openPools(origin: string, { timeouts, capacity, inProcess }: PoolOptions): Pools {
  const open = inProcess?.get(origin)
  const openPool = (connections: number): Pool =>
    new Pool(origin, {
      connections,
      pipelining: 1,
      keepAliveTimeout: policy.upstreamKeepAliveMs,
      connect: open ? connectInProcess(open) : { timeout: timeouts.connectMs },
      bodyTimeout: timeouts.bodyMs,
    })
  return {
    json: openPool(capacity.connectionsPerReplica),
    file: openPool(capacity.fileConnectionsPerReplica),
    states: openPool(policy.stateConnectionsPerReplica),
  }
}

function connectInProcess(open: OpenConnection): buildConnector.connector {
  return (_options, callback) => {
    try {
      const connection = open()
      // The pool expects the answer asynchronously.
      setImmediate(() => callback(null, connection as Socket))
    } catch (error) {
      setImmediate(() => callback(error as Error, null))
    }
  }
}

/** Requests under way end normally. */
export async function closePools(pools: Pools): Promise<void> {
  await Promise.all(Object.values(pools).map((pool) => pool.close()))
}

export async function destroyPools(pools: Pools): Promise<void> {
  await Promise.all(Object.values(pools).map((pool) => pool.destroy()))
}
