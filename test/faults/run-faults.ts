import { setTimeout as pause } from 'node:timers/promises'
import { startNats, startEphemeralPostgres, startRedis } from '@gatehouse/local-servers'
import { eventually, startTcpProxy, answered } from '@gatehouse/test-kit'
import pg from 'pg'
import type { Cluster, Role } from '../../deploy/cluster/cluster.ts'
import { startTestCluster } from '../../deploy/test/test-cluster.ts'
import { hashing, listFaults } from './faults.ts'
import { createHistory, waitForGoals, type Goals, type History } from './history.ts'
import { createInstanceClient, type InstanceClient } from './instance-client.ts'
import { findWrongPresence, startSocketClient } from './socket-clients.ts'
import { registerUser, type TestUser } from './users.ts'
import { redeem } from './redeemers.ts'
import { changePasswords, probeRevoked } from './revokers.ts'
import { write } from './writers.ts'

export type FaultRun = { history: History; seconds: number }

export type FaultSize = {
  /** How many times every fault is injected. */
  rounds: number
  /** Their names, by default all. */
  only?: readonly string[]
  replicas: Partial<Record<Role, number>>
  /** Accounts of each kind. */
  writers: number
  changers: number
  clients: number
  goals: Goals
}

export const wholeSize: FaultSize = {
  rounds: 1,
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
const recoveryTimeoutMs = 60_000
const presenceTimeoutMs = 70_000

/**
 * Runs an instance under load, injects every fault meanwhile, and then compares the history with the invariants. No
 * manual recovery: what died is restarted, as by a supervisor. Design: invariants 1, 2, 3, 9.
 */
export async function runFaults(options: Options): Promise<FaultRun> {
  const { rounds, only, replicas, goals, log } = options
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
  const users = await registerUsers(instance, options)
  log(`instance started, ${users.all.length} users registered`)

  const stopping = new AbortController()
  const work = startLoad(instance, history, users, stopping.signal)
  for (let round = 1; round <= rounds; round += 1) {
    for (const fault of listFaults({ cluster, instance, proxies }, only)) {
      await pause(betweenFaultsMs)
      log(`${((performance.now() - startedAt) / 1000).toFixed(0).padStart(4)} s  ${fault.name}`)
      await fault.inject()
      history.count('faults')
    }
  }
  await expectRecovery(cluster, history, log)
  await waitForGoals(history, writesAfterwards(history, users))
  await waitForGoals(history, goals)
  stopping.abort()
  await work.finish()
  await expectEmptyOutbox(postgres.url, history)
  return { history, seconds: (performance.now() - startedAt) / 1000 }
}

type TestUsers = { admin: TestUser; writers: TestUser[]; changers: TestUser[]; clients: TestUser[]; all: TestUser[] }

async function registerUsers(instance: InstanceClient, size: FaultSize): Promise<TestUsers> {
  const admin = await registerUser(instance, 'admin')
  const register = (kind: string, count: number): Promise<TestUser[]> =>
    Promise.all(Array.from({ length: count }, (_, index) => registerUser(instance, `${kind}_${index + 1}`)))
  const writers = await register('writer', size.writers)
  const changers = await register('changer', size.changers)
  const clients = await register('client', size.clients)
  await answered(
    instance.call('PATCH', '/api/settings/instance', { token: admin.token, body: { registrationOpen: false } }),
  )
  return { admin, writers, changers, clients, all: [admin, ...writers, ...changers, ...clients] }
}

/** Two more for each writer: the load goes on after the last fault. */
function writesAfterwards(history: History, { writers }: TestUsers): Goals {
  const before = new Map(history.counts()).get('writes acknowledged') ?? 0
  return { 'writes acknowledged': before + 2 * writers.length }
}

function startLoad(instance: InstanceClient, history: History, users: TestUsers, stop: AbortSignal) {
  const revoked: string[] = []
  const writing = users.writers.map((person) => write(instance, history, person, stop))
  const changing = users.changers.map((person) => changePasswords(instance, history, person, revoked, stop))
  const probing = [1, 2].map(() => probeRevoked(instance, history, revoked, stop))
  const redeeming = redeem(instance, history, users.admin, stop)
  const clients = users.clients.map((person) => startSocketClient(instance, history, person))
  return {
    async finish() {
      await Promise.all([...changing, ...probing])
      for (const { checkAtTheEnd } of await Promise.all(writing)) await checkAtTheEnd()
      await (await redeeming).check()
      // Half of the clients stop, so that both states are checked.
      const staying = clients.slice(0, clients.length / 2)
      for (const client of clients.slice(staying.length)) client.stop()
      let wrong = ['not checked']
      await eventually(
        'presence is right',
        async () => {
          wrong = await findWrongPresence(instance, users.admin, clients)
          await pause(500)
          return staying.every(({ isReady }) => isReady()) && wrong.length === 0
        },
        presenceTimeoutMs,
      ).catch(() => wrong.forEach((what) => history.violation(`presence: ${what}`)))
      history.count('presences checked', clients.length)
      for (const client of clients) client.stop()
    },
  }
}

/** Every process is ready again without manual recovery. */
async function expectRecovery(cluster: Cluster, history: History, say: (line: string) => void): Promise<void> {
  const startedAt = performance.now()
  for (const { service, index, opsUrl } of cluster.processes) {
    await eventually(
      `${service}-${index} is ready`,
      async () => (await fetch(`${opsUrl}/readyz`)).ok,
      recoveryTimeoutMs,
    )
      .then(() => history.count('processes ready again'))
      .catch(() => history.violation(`${service}-${index} was not ready within ${recoveryTimeoutMs} ms`))
  }
  say(`all processes were ready ${((performance.now() - startedAt) / 1000).toFixed(1)} s after the last fault`)
}

/** Every event of the outbox has been published. */
async function expectEmptyOutbox(url: string, history: History): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await eventually(
      'the outbox is empty',
      async () => {
        const { rows } = await client.query<{ left: string }>('select count(*) as left from outbox')
        return rows[0]?.left === '0'
      },
      recoveryTimeoutMs,
    ).catch(() => history.violation('events were left in the outbox'))
  } finally {
    await client.end()
  }
}
