import { setTimeout as pause } from 'node:timers/promises'
import { urlForRole } from '@gatehouse/database'
import { eventually, startNatsCluster, startPostgresPair, startTcpProxy } from '@gatehouse/test-kit'
import type { Cluster, Role } from '../../deploy/cluster/cluster.ts'
import { startTestCluster } from '../../deploy/test/test-cluster.ts'
import { seededRandom, type Random } from '../fuzz/random.ts'
import { administrate } from './administrators.ts'
import { createAwayTimes, type AwayTimes } from './away-times.ts'
import { expectNothingLeft, expectRecovery } from './end-state.ts'
import { hashing, listServiceFaults, type Fault } from './faults.ts'
import { createHistory, waitForGoals, type History } from './history.ts'
import { createInstanceClient, type InstanceClient } from './instance-client.ts'
import { closeRegistration, registerLoad, registerUsers, startLoad, type TestUsers } from './load.ts'
import { listNatsFaults } from './nats-faults.ts'
import { planFaults } from './plan.ts'
import { listPostgresFaults } from './postgres-faults.ts'
import { startProbes, writersOfGateway, type ProbeUsers } from './probes.ts'
import { redisForms } from './redis-faults.ts'
import { writesAfterwards, type FaultRun } from './run-faults.ts'
import { befriendPeer, startPeer, travel } from './travellers.ts'

export type LongRun = FaultRun & { away: ReturnType<AwayTimes['end']> }

type Options = {
  hours: number
  seed: number
  /** Faults whose names contain it. By default all. */
  only?: string
  /** Of `redisForms`. */
  redis: string
  log(line: string): void
  /** Ends the run at once, without what is compared at its end. */
  stop: AbortSignal
}

const replicas = { gateway: 2, identity: 2, 'session-gateway': 2 }
const size = { writers: 4, changers: 2, clients: 4 }
const travellers = 2
const members = 1
/** Of each kind of load. */
const goals = {
  'tokens revoked by an acknowledged change': 1,
  'revoked tokens presented': 1,
  'registrations by invite acknowledged': 1,
  'acknowledged by admins: suspend': 1,
  'acknowledged by admins: sessions/end': 1,
  'at the peer: profiles': 1,
  'at the peer: deletions': 1,
}
/** Of every write, read and socket, after a fault has ended. */
const backLimitMs = 120_000
const longestPauseMs = 5_000

/**
 * Runs an instance with a standby of PostgreSQL, three nodes of NATS and a peer under load, injects faults by a seed until the time
 * is over, and measures how long each kept writes, reads and sockets away. Then compares the history with the invariants. Design:
 * invariants 1, 2, 3, 9.
 */
export async function runLong({ hours, seed, only = '', redis, log, stop }: Options): Promise<LongRun> {
  const startedAt = performance.now()
  const random = seededRandom(seed)
  const under = { fault: 'before the first fault' }
  const secondsNow = () => (performance.now() - startedAt) / 1_000
  const history = createHistory({ now: () => `${secondsNow().toFixed(0)} s, ${under.fault}`, log })
  await using resources = new AsyncDisposableStack()
  const scene = await openScene(resources, { history, random, form: redis })
  const { cluster, times } = scene
  const work = await startWork(resources, scene)
  log(`${secondsNow().toFixed(0).padStart(4)} s  instance started`)
  const faults = scene.faults.filter(({ name }) => name.includes(only))
  if (faults.length === 0) throw new Error(`no fault has "${only}" in its name`)
  const deadline = performance.now() + hours * 3_600_000
  for (const fault of planFaults(faults, random, () => performance.now() < deadline && !stop.aborted)) {
    await pause(random.below(longestPauseMs))
    under.fault = fault.name
    times.begin(fault.name)
    const began = secondsNow()
    await Promise.race([injectAndWait(fault, scene), aborted(stop)])
    if (!stop.aborted)
      log(`${began.toFixed(0).padStart(4)} s  ${fault.name}: back after ${(secondsNow() - began).toFixed(1)} s`)
  }
  const away = times.end()
  under.fault = 'at the end'
  if (!stop.aborted) {
    await expectRecovery(cluster, history, log)
    await waitForGoals(history, writesAfterwards(history, scene.users))
    await waitForGoals(history, goals)
    await work.finish()
    await expectNothingLeft(scene.databaseUrl, cluster, history)
  }
  return { history, seconds: secondsNow(), away }
}

type Scene = {
  history: History
  cluster: Cluster
  instance: InstanceClient
  users: TestUsers
  times: AwayTimes
  faults: Fault[]
  /** Of the PostgreSQL that takes writes. */
  databaseUrl: string
  peer: Awaited<ReturnType<typeof startPeer>>['peer']
}

async function openScene(
  resources: AsyncDisposableStack,
  { history, random, form }: { history: History; random: Random; form: string },
): Promise<Scene> {
  const pair = resources.use(await startPostgresPair())
  const address = resources.use(await startTcpProxy(pair.primary.url))
  const nats = resources.use(await startNatsCluster())
  const redis = await redisForms[form]!(resources, random)
  const { peer, environment } = await startPeer()
  resources.use(peer)
  const natsProxies = await Promise.all(nats.nodes.map(async ({ url }) => resources.use(await startTcpProxy(url))))
  const throughProxies = { NATS_URL: natsProxies.map(({ url }) => url).join(','), REDIS_URL: redis.proxiedUrl }
  const isBehindProxies = (role: Role, index: number) => ['gateway', 'identity'].includes(role) && index === 0
  const cluster = resources.use(
    await startTestCluster({
      servers: { postgres: pair.primary, nats: nats.nodes[0]!, redis: redis.server },
      replicas,
      environment: { TRUST_PROXY: 'loopback', LOG_LEVEL: 'warn', ...hashing, ...environment },
      environmentOf: (role, index) => ({
        ...(role !== 'gateway' && { DATABASE_URL: urlForRole(address.url, role) }),
        NATS_URL: nats.url,
        REDIS_URL: redis.url,
        ...(isBehindProxies(role, index) && throughProxies),
      }),
    }),
  )
  const instance = resources.use(createInstanceClient(cluster.gateways, history))
  const users = await registerLoad(instance, size)
  const faults = [
    ...listPostgresFaults(pair, address),
    ...listNatsFaults(nats, random),
    ...redis.faults,
    ...listServiceFaults({ cluster, instance, proxies: [...redis.proxies, ...natsProxies] }),
  ]
  const times = createAwayTimes(cluster.gateways, () => performance.now())
  return { history, cluster, instance, users, times, faults, databaseUrl: address.url, peer }
}

/** Everything that goes on during the faults. */
async function startWork(resources: AsyncDisposableStack, scene: Scene): Promise<{ finish(): Promise<void> }> {
  const { history, instance, users, peer } = scene
  const probed = resources.use(createInstanceClient(instance.gateways, history))
  const probeUsers = await Promise.all(instance.gateways.map((_, index) => registerProbeUsers(instance, index)))
  const [crossing, suspended] = [
    await registerUsers(instance, 'traveller', travellers),
    await registerUsers(instance, 'member', members),
  ]
  await closeRegistration(instance, users.admin)
  await befriendPeer({ instance, admin: users.admin, peer })
  const stopping = new AbortController()
  const { signal: stop } = stopping
  resources.defer(() => stopping.abort())
  const load = startLoad(instance, history, users, stop)
  const withAdmin = { instance, history, admin: users.admin, stop }
  const administrating = suspended.map((member) => administrate({ ...withAdmin, revoked: load.revoked }, member))
  const travelling = crossing.map((person) => travel({ ...withAdmin, peer }, person))
  const probes = resources.use(await startProbes({ ...scene, instance: probed }, probeUsers))
  return {
    async finish() {
      stopping.abort()
      probes[Symbol.dispose]()
      for (const { check } of await Promise.all(administrating)) await check(scene.databaseUrl)
      await Promise.all(travelling)
      await load.finish()
    },
  }
}

async function registerProbeUsers(instance: InstanceClient, index: number): Promise<ProbeUsers> {
  const [watcher, ...writers] = await registerUsers(instance, `probe_${index}`, 1 + writersOfGateway)
  return { watcher: watcher!, writers }
}

/** The fault is over when everything was answered at every gateway, so that the next one is measured alone. */
async function injectAndWait(fault: Fault, { times, history }: Scene): Promise<void> {
  await fault.inject().catch((error: unknown) => history.violation(`${fault.name}: ${String(error)}`))
  history.count('faults')
  const endedAt = performance.now()
  await eventually('everything is back', () => times.isBackSince(endedAt), backLimitMs).catch(() =>
    history.violation(`not everything was back within ${backLimitMs} ms after the fault`),
  )
}

const aborted = (stop: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (stop.aborted) resolve()
    stop.addEventListener('abort', () => resolve(), { once: true })
  })
