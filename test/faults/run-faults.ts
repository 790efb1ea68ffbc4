import { setTimeout as pause } from 'node:timers/promises'
import { privateNats, privatePostgres, privateRedis } from '@gatehouse/local-servers'
import { eventually } from '@gatehouse/test-kit'
import pg from 'pg'
import { startCluster, type Cluster } from '../../deploy/cluster/cluster.ts'
import { openRoad } from './cuttable-road.ts'
import { listFaults } from './faults.ts'
import { createHistory, type History } from './history.ts'
import { createInstance, type Instance } from './instance.ts'
import { findWrongPresence, listen } from './listeners.ts'
import { registerPerson, type Person } from './people.ts'
import { redeem } from './redeemers.ts'
import { changePasswords, probeRevoked } from './revokers.ts'
import { write } from './writers.ts'

export type FaultRun = { history: History; seconds: number }

/** How many times every fault strikes, and who is told of it. */
type Options = { rounds: number; say(line: string): void }

const BETWEEN_FAULTS_MS = 500
const RECOVERED_WITHIN_MS = 60_000
const PRESENCE_WITHIN_MS = 70_000
const UNTOUCHED_MS = 2_000
const TWO_OF_EACH = { gateway: 2, identity: 2, 'session-gateway': 2 }

/**
 * Runs an instance with people on it, lets every fault strike while they go on, and then holds the history against what
 * was promised. Nobody mends anything: what died is started again, as a supervisor would. Design: invariants 1, 2, 3, 9.
 */
export async function runFaults({ rounds, say }: Options): Promise<FaultRun> {
  const startedAt = performance.now()
  await using resources = new AsyncDisposableStack()
  const [postgres, nats, redis] = await Promise.all([
    privatePostgres({ settings: { max_connections: '200' } }),
    privateNats(),
    privateRedis(),
  ])
  for (const server of [postgres, nats, redis]) resources.use(server)
  const roads = [resources.use(await openRoad(nats.url)), resources.use(await openRoad(redis.url))]
  const [natsRoad, redisRoad] = roads as [(typeof roads)[0], (typeof roads)[0]]
  const cluster = resources.use(
    await startCluster({
      servers: { postgres, nats, redis },
      replicas: TWO_OF_EACH,
      environment: { TRUST_PROXY: 'loopback', LOG_LEVEL: 'warn', HASHING_QUEUE: '20' },
      environmentOf: (role, index) =>
        ['gateway', 'identity'].includes(role) && index === 0
          ? { NATS_URL: natsRoad.url, REDIS_URL: redisRoad.url }
          : {},
    }),
  )
  const history = createHistory()
  const instance = resources.use(createInstance(cluster.gateways, history))
  const people = await gather(instance)
  say(`the instance is up, ${people.everybody.length} people are on it`)

  const stopping = new AbortController()
  const work = startWork(instance, history, people, stopping.signal)
  for (let round = 1; round <= rounds; round += 1) {
    for (const fault of listFaults({ cluster, instance, roads })) {
      await pause(BETWEEN_FAULTS_MS)
      say(`${((performance.now() - startedAt) / 1000).toFixed(0).padStart(4)} s  ${fault.name}`)
      await fault.strike()
      history.count('faults')
    }
  }
  await expectRecovery(cluster, history, say)
  await pause(UNTOUCHED_MS)
  stopping.abort()
  await work.finish()
  await expectEmptyOutbox(postgres.url, history)
  return { history, seconds: (performance.now() - startedAt) / 1000 }
}

type People = { admin: Person; writers: Person[]; changers: Person[]; listeners: Person[]; everybody: Person[] }

async function gather(instance: Instance): Promise<People> {
  const admin = await registerPerson(instance, 'admin')
  const register = (names: string[]): Promise<Person[]> =>
    Promise.all(names.map((name) => registerPerson(instance, name)))
  const writers = await register(['writer_one', 'writer_two', 'writer_three'])
  const changers = await register(['changer_one', 'changer_two'])
  const listeners = await register(['listener_one', 'listener_two', 'listener_three', 'listener_four'])
  await instance.call('PATCH', '/api/admin/settings', { token: admin.token, body: { registrationOpen: false } })
  return { admin, writers, changers, listeners, everybody: [admin, ...writers, ...changers, ...listeners] }
}

function startWork(instance: Instance, history: History, people: People, stop: AbortSignal) {
  const revoked: string[] = []
  const writing = people.writers.map((person) => write(instance, history, person, stop))
  const changing = people.changers.map((person) => changePasswords(instance, history, person, revoked, stop))
  const probing = [1, 2].map(() => probeRevoked(instance, history, revoked, stop))
  const redeeming = redeem(instance, history, people.admin, stop)
  const listeners = people.listeners.map((person) => listen(instance, history, person))
  return {
    async finish() {
      await Promise.all([...changing, ...probing])
      for (const { checkAtTheEnd } of await Promise.all(writing)) await checkAtTheEnd()
      await (await redeeming).check()
      // Half of them go, so that both states are looked at.
      for (const listener of listeners.slice(2)) listener.leave()
      let wrong = ['nobody looked']
      await eventually(
        'presence is right',
        async () => {
          wrong = await findWrongPresence(instance, people.admin, listeners)
          await pause(500)
          return listeners.slice(0, 2).every(({ isReady }) => isReady()) && wrong.length === 0
        },
        PRESENCE_WITHIN_MS,
      ).catch(() => wrong.forEach((what) => history.breach(`presence: ${what}`)))
      history.count('presences checked', listeners.length)
      for (const listener of listeners) listener.leave()
    },
  }
}

/** Everything is ready again, and nobody had to do a thing. */
async function expectRecovery(cluster: Cluster, history: History, say: (line: string) => void): Promise<void> {
  const startedAt = performance.now()
  for (const { service, index, opsUrl } of cluster.processes) {
    await eventually(
      `${service}-${index} is ready`,
      async () => (await fetch(`${opsUrl}/readyz`)).ok,
      RECOVERED_WITHIN_MS,
    )
      .then(() => history.count('processes ready again'))
      .catch(() => history.breach(`${service}-${index} was not ready within ${RECOVERED_WITHIN_MS} ms`))
  }
  say(`all processes were ready ${((performance.now() - startedAt) / 1000).toFixed(1)} s after the last fault`)
}

/** Every fact that was saved has been published. */
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
      RECOVERED_WITHIN_MS,
    ).catch(() => history.breach('facts were left in the outbox'))
  } finally {
    await client.end()
  }
}
