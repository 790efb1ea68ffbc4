import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { callerHeader, createSigningKeys, signCaller } from '@gatehouse/auth'
import { type AccountStates, createAccountStates, readAccountStates } from '@gatehouse/authority'
import type { PlainSubjects } from '@gatehouse/bus'
import type { AccountState } from '@gatehouse/contracts'
import { urlForRole } from '@gatehouse/database'
import { openResources } from '@gatehouse/service-kit'
import { startSessionGateway } from '@gatehouse/session-gateway'
import { connectUpstream, type UpstreamConnection } from '@gatehouse/upstream'
import pg from 'pg'
import { WebSocket } from 'ws'
import type { Cluster, Role } from '../../deploy/cluster/cluster.ts'
import { startTestCluster } from '../../deploy/test/test-cluster.ts'
import { callApi } from '../api.ts'
import { insertAccounts, type Account } from './accounts.ts'
import { revocationsOf, type Revocation } from './changes.ts'
import { injectFaults, seededPick } from './inject-faults.ts'

export type SocketRun = {
  changes: Map<string, number>
  unanswered: number
  /** Sent on to an upstream, or delivered, before the answer. */
  before: number
  /** Sent by a client after the answer. */
  sentAfter: number
  /** Sent on or delivered with the old authority after the answer. */
  stale: number
  /** What and when each of the first was. */
  examples: string[]
  faults: Map<string, number>
}

export type SocketSize = {
  seed: number
  replicas: Partial<Record<Role, number>>
  /** Accounts that are changed at the same time. */
  workers: number
  /** Changes that are answered in a run. */
  changes: number
}

/** `judged` false: each account is read once, as if a socket went on with what it knew at its start. */
type Options = SocketSize & { judged: boolean }

export type SocketScene = AsyncDisposable & { cluster: Cluster; admin: Account; accounts: Account[] }

/** `judgedAt`: when the account was last read as an admin's. What is delivered to admins leaves at once then. */
type Subject = { account: Account; kind: string; answeredAt: number; judgedAt: number }

const burst = 8
const watchMs = 400

/** A cluster with local accounts, of which every second one is an admin, for several runs with so many changes in all. */
export async function startSocketScene({ replicas, changes }: Pick<SocketSize, 'replicas' | 'changes'>) {
  await using opening = new AsyncDisposableStack()
  const environment = { TRUST_PROXY: 'loopback', LOG_LEVEL: 'warn' }
  const cluster = opening.use(await startTestCluster({ replicas, environment }))
  const { DATABASE_URL, JWT_SECRET } = cluster.environment
  const { admin, accounts } = await insertAccounts(DATABASE_URL!, JWT_SECRET!, 4 * changes + 200)
  await giveRoles(DATABASE_URL!)
  const open = opening.move()
  const local = accounts.filter(({ isFederated }) => !isFederated)
  return { cluster, admin, accounts: local, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/**
 * Changes accounts whose sockets talk to an upstream and watch for admins, while NATS, Redis and processes are killed and
 * frozen. The session gateways run in this process, so that the moment at which they send on is known. Design: invariant 1.
 */
export async function runSocketRevocations(scene: SocketScene, options: Options): Promise<SocketRun> {
  const { cluster, admin, accounts } = scene
  const { seed, workers, changes: count, judged } = options
  await using opening = new AsyncDisposableStack()
  const run: SocketRun = {
    changes: new Map(),
    unanswered: 0,
    before: 0,
    sentAfter: 0,
    stale: 0,
    examples: [],
    faults: new Map(),
  }
  const subjects = new Map<string, Subject>()
  const onForward = (body: string) => {
    const { userId, isAdmin } = JSON.parse(body) as { userId: string; isAdmin: boolean }
    note(run, subjects.get(userId), { what: 'message', at: performance.now(), isAdmin })
  }
  const onJudged = ({ userId, isAdmin, isDeleted }: AccountState) => {
    const subject = subjects.get(userId)
    if (subject && isAdmin && !isDeleted) subject.judgedAt = performance.now()
  }
  const upstreamsFile = await writeUpstreams(opening)
  const nodes = [0, 1].map(() => startNode(opening, cluster, { onForward, onJudged, upstreamsFile, judged }))
  const urls = await Promise.all(nodes)
  const chat = opening.use(await connectUpstream({ natsUrl: cluster.nats.url, name: 'chat', onError: () => undefined }))
  chat.onMessage(() => undefined)
  const stopping = new AbortController()
  const faults = injectFaults(cluster, { pick: seededPick(seed), counts: run.faults, stop: stopping.signal })
  const answered = () => [...run.changes.values()].reduce((sum, each) => sum + each, 0)
  const work = Array.from({ length: workers }, async (_, worker) => {
    const pick = seededPick(seed + worker + 1)
    for (let account = accounts.pop(); account && answered() < count; account = accounts.pop()) {
      const changes = changesOf(account, admin)
      const change = changes[pick(changes.length)]!
      const gateway = cluster.gateways[pick(cluster.gateways.length)]!
      await changeOne({ cluster, urls, chat, run, subjects }, account, { change, gateway })
    }
  })
  await Promise.all(work)
  stopping.abort()
  await faults
  return run
}

export function formatSocketRun({
  changes,
  unanswered,
  before,
  sentAfter,
  stale,
  examples,
  faults,
}: SocketRun): string {
  const list = (counts: Map<string, number>) => [...counts].map(([name, times]) => `${times} × ${name}`).join(', ')
  return [
    `answered: ${list(changes)}; ${unanswered} not answered`,
    `sent on or delivered before the answer: ${before}; sent by clients after it: ${sentAfter}`,
    `sent on or delivered with the old authority after the answer: ${stale}`,
    ...examples,
    `faults: ${list(faults)}`,
  ].join('\n')
}

type Sighting = { what: string; at: number; isAdmin: boolean }

function note(run: SocketRun, subject: Subject | undefined, { what, at, isAdmin }: Sighting): void {
  if (!subject) return
  if (at <= subject.answeredAt) run.before += 1
  else if (subject.kind !== 'demotion' || isAdmin) {
    run.stale += 1
    const lateMs = (at - subject.answeredAt).toFixed(1)
    if (run.examples.length < 10) run.examples.push(`${what}, ${lateMs} ms after the answer to a ${subject.kind}`)
  }
}

/** Every second local account is an admin. */
async function giveRoles(databaseUrl: string): Promise<void> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  await client.query('update users set is_admin = true where home_instance is null and id % 4 = 0')
  await client.end()
}

function changesOf(account: Account, admin: Account): Revocation[] {
  if (Number(BigInt(account.id) % 4n) !== 0) return revocationsOf(account, admin)
  const headers = { 'x-forwarded-for': '10.1.2.3' }
  const options = { token: admin.token, body: { isAdmin: false }, headers }
  const send = (gateway: string) => callApi(gateway, `PATCH /api/admin/users/${account.id}/role`, options)
  return [{ kind: 'demotion', send }]
}

type Instance = {
  cluster: Cluster
  urls: string[]
  chat: UpstreamConnection
  run: SocketRun
  subjects: Map<string, Subject>
}

async function changeOne(
  { cluster, urls, chat, run, subjects }: Instance,
  account: Account,
  { change, gateway }: { change: Revocation; gateway: string },
): Promise<void> {
  const subject: Subject = { account, kind: change.kind, answeredAt: Infinity, judgedAt: 0 }
  subjects.set(account.id, subject)
  // Admins get what is delivered for admins, whoever else may not.
  const onFrame = (type: string) =>
    /^(admin_changed|chat\.alarm)$/.test(type)
      ? note(run, subject, { what: type, at: subject.judgedAt, isAdmin: true })
      : undefined
  const sockets = await Promise.all(urls.map((url) => openSocket(cluster, url, { token: account.token, onFrame })))
  const send = (message: object) => sockets.map((socket) => socket.send(JSON.stringify(message), () => undefined))
  const alarm = () => chat.deliver({ users: [account.id] }, { type: 'chat.alarm' }, { access: 'admin' })
  send({ type: 'watch', topic: 'admin' })
  for (let n = 0; n < burst; n += 1) send({ type: 'chat.say', n })
  alarm()
  await pause(50)
  const isAnswered = await change.send(gateway).then(
    ({ status }) => status === 200,
    () => false,
  )
  if (isAnswered) {
    subject.answeredAt = performance.now()
    run.changes.set(change.kind, (run.changes.get(change.kind) ?? 0) + 1)
    for (let n = 0; n < burst; n += 1) run.sentAfter += send({ type: 'chat.say', n }).length
    alarm()
    await pause(watchMs)
  } else run.unanswered += 1
  for (const socket of sockets) socket.terminate()
}

type SocketOptions = { token: string; onFrame(type: string): void }

/** It may have been refused, or end at any time. */
async function openSocket(cluster: Cluster, url: string, { token, onFrame }: SocketOptions): Promise<WebSocket> {
  const keys = createSigningKeys('gateway', cluster.environment.INTERNAL_SECRET!)
  const options = { issuer: 'test', audience: 'session-gateway', now: Date.now() }
  const caller = signCaller(keys, { address: '127.0.0.1', account: null }, options)
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, { headers: { [callerHeader]: caller } })
  socket.on('error', () => undefined)
  socket.on('open', () => socket.send(JSON.stringify({ type: 'auth', token })))
  await new Promise<void>((resolve) => {
    socket.on('close', () => resolve())
    socket.on('message', (data: Buffer) => {
      const { type } = JSON.parse(data.toString()) as { type: string }
      if (type === 'ready') resolve()
      onFrame(type)
    })
  })
  return socket
}

async function writeUpstreams(opening: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-revocation-'))
  opening.defer(() => rm(folder, { recursive: true }))
  const path = join(folder, 'upstreams.json')
  const upstream = { name: 'chat', origins: ['http://127.0.0.1:9'], routes: [], messages: ['chat.'] }
  await writeFile(path, JSON.stringify({ upstreams: [upstream] }))
  return path
}

type NodeOptions = {
  onForward(body: string): void
  onJudged(state: AccountState): void
  upstreamsFile: string
  judged: boolean
}

async function startNode(opening: AsyncDisposableStack, cluster: Cluster, options: NodeOptions): Promise<string> {
  const { DATABASE_URL, CALLER_KEYS = '' } = cluster.environment
  const resources = opening.use(
    await openResources('session-gateway', {
      logLevel: 'silent',
      postgres: { url: urlForRole(DATABASE_URL!, 'session-gateway'), connections: 6 },
      nats: { url: cluster.nats.url },
    }),
  )
  const plain: PlainSubjects = {
    ...resources.bus.plain!,
    request: (subject, body, limit) => {
      options.onForward(body)
      return resources.bus.plain!.request(subject, body, limit)
    },
  }
  const callerKeys = { lines: CALLER_KEYS.split('\n') }
  const config = { host: '127.0.0.1', port: 0, drainMs: 1_000, callerKeys }
  const read = async (userIds: readonly string[]) => await readAccountStates(resources.orm.em.fork(), userIds)
  const service = await startSessionGateway(
    { ...config, upstreamsFile: options.upstreamsFile },
    { ...resources, bus: { ...resources.bus, plain } },
    {
      timings: { drainMs: 100 },
      accountStates: watchStates(options.judged ? readStates(read) : rememberStates(read), options),
    },
  )
  opening.use(service)
  return service.url
}

type Read = (userIds: readonly string[]) => Promise<AccountState[]>

function watchStates({ find }: AccountStates, { onJudged }: Pick<NodeOptions, 'onJudged'>): AccountStates {
  return {
    find: async (userId) => {
      const state = await find(userId)
      if (state) onJudged(state)
      return state
    },
  }
}

/** As the service does it, but without a limit of time. */
const readStates = (read: Read): AccountStates =>
  createAccountStates({ load: async (userIds) => ({ states: await read(userIds) }) })

function rememberStates(read: Read): AccountStates {
  const states = new Map<string, AccountState>()
  return createAccountStates({
    load: async (userIds) => {
      const unknown = userIds.filter((userId) => !states.has(userId))
      for (const state of await read(unknown)) states.set(state.userId, state)
      return { states: userIds.flatMap((userId) => states.get(userId) ?? []) }
    },
  })
}
