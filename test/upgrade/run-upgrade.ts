import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { eventually, answered } from '@gatehouse/test-kit'
import pg from 'pg'
import { projectRoot, type ClusterProcess } from '../../deploy/cluster/cluster-process.ts'
import { startCluster, type Cluster, type Role } from '../../deploy/cluster/cluster.ts'
import { startTestCluster } from '../../deploy/test/test-cluster.ts'
import { createHistory, waitForGoals, type Goals, type History } from '../faults/history.ts'
import type { InstanceClient } from '../faults/instance-client.ts'
import { redeem } from '../faults/redeemers.ts'
import { changePasswords, probeRevoked } from '../faults/revokers.ts'
import { registerUser, type TestUser } from '../faults/users.ts'
import { write } from '../faults/writers.ts'
import { createOpenInvite, deleteRepeatedly, logInRepeatedly } from './accounts.ts'
import { createBalancer, type Balancer } from './balancer.ts'
import { createStrictClient } from './strict-client.ts'
import { watchSockets } from './watched-socket.ts'

export type Replacement = { name: string; stopMs: number; startMs: number; answered: number; socketsMoved: number }
export type UpgradeRun = { history: History; replacements: Replacement[]; worstReturnMs: number; seconds: number }

export type UpgradeOptions = {
  /** How many times every process is replaced. */
  rounds: number
  /** The source tree from which all processes start; replaced, they run this one. By default this one. */
  from?: string
  /** By default two of each. */
  replicas?: Partial<Record<Role, number>>
  /** Replicas of each kind that are replaced, by default all. */
  replacedOfEach?: Partial<Record<Role, number>>
  socketsOfEachUser: number
  /** The longest time from the close of a socket to the next `ready`. */
  returnLimitMs: number
  /** How long a new process is in service before the next one goes, by default as with `minReadySeconds` or `preStop`. */
  betweenReplacementsMs?: number
  /** Clients that write and read without a pause, by default four. */
  writers?: number
  /** What the history must have counted before the load ends, however slow the machine is. */
  goals?: Goals
  log(line: string): void
}

const twoOfEach: Record<Role, number> = {
  identity: 2,
  invite: 2,
  'federation-fanout': 2,
  openid: 2,
  'session-gateway': 2,
  gateway: 2,
}
const defaultBetweenReplacementsMs = 2_000
/** Containers and pods are given 40 s. Contract: 8, drain. */
const stopLimitMs = 36_000
const outboxLimitMs = 60_000

/**
 * Runs a distributed instance under load and replaces its processes one after the other, services before gateways. What the
 * clients saw is in the history, violations among it. Contract: 8, drain; Design: invariants 1, 2.
 */
export async function runUpgrade(options: UpgradeOptions): Promise<UpgradeRun> {
  const startedAt = performance.now()
  const replaced = new Set<string>()
  await using resources = new AsyncDisposableStack()
  // A former release has no program that hashes quickly.
  const start = options.from ? startCluster : startTestCluster
  const cluster = resources.use(
    await start({
      replicas: { ...twoOfEach, ...options.replicas },
      environment: {
        TRUST_PROXY: 'loopback',
        LOG_LEVEL: 'warn',
        HASHING_QUEUE: '100',
      },
      rootOf: (role, index) => (replaced.has(`${role}-${index}`) ? projectRoot : formerRootOf(role, options.from)),
    }),
  )
  const history = createHistory()
  const balancer = createBalancer(cluster.gateways)
  const instance = resources.use(createStrictClient(balancer, history))
  const users = await registerUsers(instance)
  const { returnLimitMs, socketsOfEachUser, log, betweenReplacementsMs = defaultBetweenReplacementsMs } = options
  const sockets = await watchSockets({ balancer, history, returnLimitMs }, users.online, socketsOfEachUser)
  resources.defer(() => sockets.stop())
  log(`started: ${cluster.processes.length} processes, ${users.online.length * socketsOfEachUser} sockets`)
  const writers = users.writers.slice(0, options.writers)
  const load = resources.use(startLoad(instance, history, { ...users, writers }))
  const replacements: Replacement[] = []
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const process of chooseProcesses(cluster, options.replacedOfEach)) {
      await pause(betweenReplacementsMs)
      replacements.push(await replace(process, { balancer, history, replaced }))
      log(describe(replacements.at(-1)!))
    }
  }
  await pause(betweenReplacementsMs)
  await waitForGoals(history, options.goals ?? {})
  sockets.stop()
  await load.finish()
  await expectEmptyOutbox(cluster.postgres.url, history)
  const seconds = (performance.now() - startedAt) / 1000
  return { history, replacements, worstReturnMs: sockets.worstReturnMs(), seconds }
}

/** This tree for a service that the former release does not have. */
function formerRootOf(role: Role, from = projectRoot): string {
  return role === 'gateway' || existsSync(join(from, 'services', role)) ? from : projectRoot
}

/** The last ones of each kind, in the order of a release: services, then gateways. */
function chooseProcesses({ processes }: Cluster, ofEach: Partial<Record<Role, number>> = twoOfEach): ClusterProcess[] {
  const countOf = (role: Role) => processes.filter(({ service }) => service === role).length
  return processes.filter(({ service, index }) => index >= countOf(service) - (ofEach[service] ?? 0))
}

async function replace(
  process: ClusterProcess,
  { balancer, history, replaced }: { balancer: Balancer; history: History; replaced: Set<string> },
): Promise<Replacement> {
  const name = `${process.service}-${process.index}`
  const before = countsOf(history)
  const startedAt = performance.now()
  if (process.service === 'gateway') balancer.remove(process.url)
  await process.stop()
  const stoppedAt = performance.now()
  if (stoppedAt - startedAt > stopLimitMs) history.violation(`${name} took ${stoppedAt - startedAt} ms to stop`)
  replaced.add(name)
  await process.start()
  if (process.service === 'gateway') balancer.add(process.url)
  const after = countsOf(history)
  return {
    name,
    stopMs: stoppedAt - startedAt,
    startMs: performance.now() - stoppedAt,
    answered: after.answered - before.answered,
    socketsMoved: after.moved - before.moved,
  }
}

function countsOf(history: History): { answered: number; moved: number } {
  const counts = new Map(history.counts())
  return { answered: counts.get('requests answered') ?? 0, moved: counts.get('sockets closed with 1012') ?? 0 }
}

export function describe({ name, stopMs, startMs, answered, socketsMoved }: Replacement): string {
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`.padStart(7)
  const numbers = `${String(answered).padStart(6)} requests answered, ${String(socketsMoved).padStart(4)} sockets moved`
  return `  ${name.padEnd(20)} stopped in ${seconds(stopMs)}, ready in ${seconds(startMs)}, meanwhile ${numbers}`
}

type TestUsers = Record<'writers' | 'changers' | 'online', TestUser[]> & { admin: TestUser; invite: string }

async function registerUsers(instance: InstanceClient): Promise<TestUsers> {
  const admin = await registerUser(instance, 'admin')
  const register = (names: string[]) => Promise.all(names.map((name) => registerUser(instance, name)))
  const writers = await register(['one', 'two', 'three', 'four'].map((name) => `writer_${name}`))
  const changers = await register(['changer_one', 'changer_two'])
  const online = await register(['online_one', 'online_two', 'online_three', 'online_four'])
  // Closed, so that every registration needs a slot of an invite.
  await answered(
    instance.call('PATCH', '/api/settings/instance', { token: admin.token, body: { registrationOpen: false } }),
  )
  return { admin, writers, changers, online, invite: await createOpenInvite(instance, admin) }
}

function startLoad(instance: InstanceClient, history: History, users: TestUsers) {
  const stopping = new AbortController()
  const stop = stopping.signal
  const revoked: string[] = []
  const writing = users.writers.map((user) => write(instance, history, user, stop))
  const redeeming = redeem(instance, history, users.admin, stop)
  const working = [
    ...users.changers.map((user) => changePasswords(instance, history, user, revoked, stop)),
    probeRevoked(instance, history, revoked, stop),
    logInRepeatedly(instance, history, users.online[0]!, stop),
    deleteRepeatedly(instance, history, users.invite, stop),
  ]
  return {
    async finish() {
      stopping.abort()
      await Promise.all(working)
      for (const { checkAtTheEnd } of await Promise.all(writing)) await checkAtTheEnd()
      await (await redeeming).check()
    },
    /** Before the client ends: requests that fail at once would never let the loops see that they have to stop. */
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await Promise.allSettled([...working, ...writing, redeeming])
    },
  }
}

/** Every event of the outbox has been published. */
async function expectEmptyOutbox(url: string, history: History): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const isEmpty = async () =>
      (await client.query<{ left: string }>('select count(*) as left from outbox')).rows[0]?.left === '0'
    await eventually('the outbox is empty', isEmpty, outboxLimitMs).catch(() =>
      history.violation('events were left in the outbox'),
    )
  } finally {
    await client.end()
  }
}
