import type { Socket } from 'node:net'
import { backoffMs, createSlots, type Clock } from '@gatehouse/runtime'
import type { OpenConnection } from '@gatehouse/service-kit'
import { Pool, type buildConnector } from 'undici'
import { policy, type Capacity, type Timeouts } from '../policy.ts'
import { discoverOrigins, type Discovery, type DiscoveryOptions } from './discover-origins.ts'

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

/** By origin. */
export type InProcessReplicas = ReadonlyMap<string, OpenConnection>

export type ReplicaOptions = DiscoveryOptions & {
  clock: Clock
  timeouts: Pick<Timeouts, 'connectMs' | 'bodyMs' | 'queueMs'>
  capacity: Capacity
  inProcess?: InProcessReplicas | undefined
}

export type Replicas = ReturnType<typeof openReplicas>

/** Opens the connection pools of a service, which has no replicas yet. Requests serve as health checks. */
// eslint-disable-next-line max-lines-per-function -- one thing: its functions share its state
export function openReplicas(options: ReplicaOptions) {
  const { clock, capacity, timeouts } = options
  const connections = { json: capacity.connectionsPerReplica, file: capacity.fileConnectionsPerReplica }
  let replicas: readonly Replica[] = []
  /** With the time until which they are asked. */
  const departed = new Map<Replica, number>()
  const retired = new Set<Pools>()
  let discovery: Discovery | undefined
  let turn = 0

  function isEjected({ failures, ejectedUntil, leavingUntil }: Replica): boolean {
    const now = clock.now()
    return (failures > 0 && ejectedUntil > now) || leavingUntil > now
  }

  const hasConnection = ({ activeRequests }: Replica, lane: Lane | undefined): boolean =>
    lane === undefined || activeRequests[lane] < connections[lane]

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

  const next = (lane: Lane | undefined, tried: readonly Replica[]): Replica | undefined =>
    choose(lane, tried, false) ??
    choose(lane, tried, true) ??
    listDeparted().find((replica) => !tried.includes(replica) && hasConnection(replica, lane))

  /** One client network holds at most half of the connections. The capacity is smaller while a replica is ejected. */
  function openSlots(lane: Lane) {
    // Without any replica requests are refused and do not wait.
    const capacity = () =>
      (replicas.filter((one) => !isEjected(one)).length || replicas.length || 1) * connections[lane]
    return createSlots({
      inAll: capacity,
      perSource: () => Math.ceil(capacity() / 2),
      waitMs: timeouts.queueMs,
      maxWaiting: policy.waitingRequests,
      maxWaitingPerSource: policy.waitingRequestsPerNetwork,
    })
  }
  const slots = { json: openSlots('json'), file: openSlots('file') }

  function openReplica(origin: string): Replica {
    const activeRequests = { json: 0, file: 0 }
    return { origin, pools: openPools(origin, options), activeRequests, failures: 0, ejectedUntil: 0, leavingUntil: 0 }
  }

  /** Requests under way end normally. */
  function retire({ pools }: Replica): void {
    retired.add(pools)
    void Promise.all(Object.values(pools).map((pool) => pool.close()))
      .catch(() => undefined)
      .finally(() => retired.delete(pools))
  }

  function reopen(replica: Replica): void {
    retire(replica)
    replica.pools = openPools(replica.origin, options)
  }

  function listDeparted(): Replica[] {
    for (const [replica, until] of departed) {
      if (until <= clock.now() && departed.delete(replica)) retire(replica)
    }
    return [...departed.keys()]
  }

  function setOrigins(wanted: readonly string[]): void {
    const before = replicas
    const replicaAt = new Map([...listDeparted(), ...before].map((replica) => [replica.origin, replica]))
    replicas = wanted.map((origin) => replicaAt.get(origin) ?? openReplica(origin))
    for (const replica of replicas) departed.delete(replica)
    for (const replica of before) {
      if (replicas.includes(replica)) continue
      reopen(replica)
      departed.set(replica, clock.now() + policy.departedMs)
    }
    for (const lane of Object.values(slots)) lane.grant()
  }
  return {
    get size(): number {
      return replicas.length
    },
    slots,
    /** Has the replicas that the URLs lead to, now and later. Resolves when the addresses are known, or late. */
    follow: async (urls: readonly string[]): Promise<void> => {
      const stopped = discovery?.[Symbol.asyncDispose]()
      discovery = discoverOrigins(urls, options, setOrigins)
      await Promise.all([stopped, discovery.resolved])
    },
    /** Takes turns over free replicas outside `tried`: first healthy ones, then ejected ones, then those that left DNS. */
    pick: (lane: Lane, tried: readonly Replica[] = []): Replica | undefined => next(lane, tried),
    /** Replicas may have been replaced since `tried` was filled. */
    hasOther: (tried: readonly Replica[]): boolean =>
      [...replicas, ...listDeparted()].some((replica) => !tried.includes(replica)),
    *candidates(): Iterable<Replica> {
      const tried: Replica[] = []
      for (let replica = next(undefined, tried); replica; replica = next(undefined, tried)) {
        tried.push(replica)
        yield replica
      }
    },
    markHealthy: (replica: Replica): void => void (replica.failures = 0),
    markFailed: (replica: Replica): void => {
      replica.ejectedUntil = clock.now() + backoffMs(replica.failures, policy.ejection)
      replica.failures += 1
      discovery?.refresh()
    },
    /** `broken`: what lost a connection. A service that stops closes its idle connections at once, so none is used again. */
    reconnect: (replica: Replica, broken: Pools): void => {
      if (replica.pools === broken) reopen(replica)
    },
    /** Closes idle connections here first: a request on one that the stopping replica closes would be lost. */
    markLeaving: (replica: Replica): void => {
      const now = clock.now()
      const others = replicas.filter((other) => other !== replica && !isEjected(other))
      if (replica.leavingUntil > now || others.length === 0 || !replicas.includes(replica)) return
      replica.leavingUntil = now + policy.leavingMs
      reopen(replica)
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await discovery?.[Symbol.asyncDispose]()
      // Their clients have been answered.
      const open = [...replicas, ...departed.keys()].map(({ pools }) => pools)
      await Promise.all([...retired, ...open].flatMap((pools) => Object.values(pools).map((pool) => pool.destroy())))
    },
  }
}

function openPools(origin: string, { timeouts, capacity, inProcess }: ReplicaOptions): Pools {
  const open = inProcess?.get(origin)
  const openPool = (connections: number): Pool =>
    new Pool(origin, {
      connections,
      pipelining: 1,
      keepAliveTimeout: policy.upstreamKeepAliveMs,
      // Whatever longer time the service offers.
      keepAliveMaxTimeout: policy.upstreamKeepAliveMs,
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
    // The pool expects the answer asynchronously.
    try {
      const connection = open()
      setImmediate(() => callback(null, connection as Socket))
    } catch (error) {
      setImmediate(() => callback(error as Error, null))
    }
  }
}
