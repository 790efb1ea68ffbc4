import { setTimeout as pause } from 'node:timers/promises'
import { startNats, startEphemeralPostgres, startRedis } from '@gatehouse/local-servers'
import { startTcpProxy } from '@gatehouse/test-kit'
import type { Role } from '../../deploy/cluster/cluster.ts'
import { startTestCluster } from '../../deploy/test/test-cluster.ts'
import { expectNothingLeft, expectRecovery } from './end-state.ts'
import { hashing, listFaults } from './faults.ts'
import { createHistory, waitForGoals, type Goals, type History } from './history.ts'
import { createInstanceClient } from './instance-client.ts'
import { closeRegistration, registerLoad, startLoad, type LoadSize, type TestUsers } from './load.ts'

export type FaultRun = { history: History; seconds: number }

export type FaultSize = LoadSize & {
  /** Their names, by default all. */
  only?: readonly string[]
  replicas: Partial<Record<Role, number>>
  goals: Goals
}

export const wholeSize: FaultSize = {
  replicas: { gateway: 2, identity: 2, 'session-gateway': 2 },
  writers: 6,
  changers: 2,
  clients: 4,
  goals: {
    faults: 11,
    'writes acknowledged': 21,
    'tokens revoked by an acknowledged change': 3,
    'revoked tokens presented': 21,
    'registrations by invite acknowledged': 2,
    'handshakes to ready': 5,
  },
}

type Options = FaultSize & { log(line: string): void }

const betweenFaultsMs = 500

/**
 * Runs an instance under load, injects every fault meanwhile, and then compares the history with the invariants. No
 * manual recovery: what died is restarted, as by a supervisor. Design: invariants 1, 2, 3, 9.
 */
export async function runFaults(options: Options): Promise<FaultRun> {
  const { only, replicas, goals, log } = options
  const startedAt = performance.now()
  await using resources = new AsyncDisposableStack()
  const [postgres, nats, redis] = await Promise.all([
    startEphemeralPostgres({ settings: { max_connections: '200' } }),
    startNats(),
    startRedis(),
  ])
  for (const server of [postgres, nats, redis]) resources.use(server)
  const proxies = [resources.use(await startTcpProxy(nats.url)), resources.use(await startTcpProxy(redis.url))]
  const [natsProxy, redisProxy] = proxies as [(typeof proxies)[0], (typeof proxies)[0]]
  const cluster = resources.use(
    await startTestCluster({
      servers: { postgres, nats, redis },
      replicas,
      environment: { TRUST_PROXY: 'loopback', LOG_LEVEL: 'warn', ...hashing },
      environmentOf: (role, index) =>
        ['gateway', 'identity'].includes(role) && index === 0
          ? { NATS_URL: natsProxy.url, REDIS_URL: redisProxy.url }
          : {},
    }),
  )
  const history = createHistory()
  const instance = resources.use(createInstanceClient(cluster.gateways, history))
  const users = await registerLoad(instance, options)
  await closeRegistration(instance, users.admin)
  log('instance started, users registered')

  const stopping = new AbortController()
  const load = startLoad(instance, history, users, stopping.signal)
  for (const fault of listFaults({ cluster, instance, proxies }, only)) {
    await pause(betweenFaultsMs)
    log(`${((performance.now() - startedAt) / 1000).toFixed(0).padStart(4)} s  ${fault.name}`)
    await fault.inject()
    history.count('faults')
  }
  await expectRecovery(cluster, history, log)
  await waitForGoals(history, writesAfterwards(history, users))
  await waitForGoals(history, goals)
  stopping.abort()
  await load.finish()
  await expectNothingLeft(postgres.url, cluster, history)
  return { history, seconds: (performance.now() - startedAt) / 1000 }
}

/** Two more for each writer: the load goes on after the last fault. */
export function writesAfterwards(history: History, { writers }: TestUsers): Goals {
  const before = new Map(history.counts()).get('writes acknowledged') ?? 0
  return { 'writes acknowledged': before + 2 * writers.length }
}
