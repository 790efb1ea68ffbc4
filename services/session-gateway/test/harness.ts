import { randomUUID } from 'node:crypto'
import { createTokenKey, signToken, verifyToken } from '@gatehouse/auth'
import { readAccountStates } from '@gatehouse/authority'
import { connectNats, type Bus } from '@gatehouse/bus'
import {
  passwordChanged,
  passwordReset,
  readTokenClaims,
  sessionsEnded,
  userSuspended,
  userDeleted,
  type AccountState,
} from '@gatehouse/contracts'
import { connectDatabase, urlForRole } from '@gatehouse/database'
import { systemClock, systemTimer, type Clock } from '@gatehouse/runtime'
import type { RunningService } from '@gatehouse/service-kit'
import {
  startSessionGateway,
  type SessionGatewayConfig,
  type SessionGatewayOverrides,
  type SessionGatewayResources,
  type Timings,
} from '@gatehouse/session-gateway'
import {
  capturedLog,
  insertUser,
  openMigratedDatabase,
  openTestResources,
  testNats,
  testCallerKeys,
} from '@gatehouse/test-kit'
import type { UserOverrides } from '@gatehouse/test-kit'
import { manualTimer, type ManualTimer } from '@gatehouse/test-kit/time'

const tokenKey = createTokenKey('signing secret of the session gateway tests')

export type Node = RunningService & { resources: SessionGatewayResources; dispose(): Promise<void> }
export type NodeOptions = {
  config?: Partial<SessionGatewayConfig>
  overrides?: SessionGatewayOverrides
  clock?: Clock
  /** Another way to NATS. */
  natsUrl?: string
}
export type Cluster = Awaited<ReturnType<typeof openCluster>>

/** Short, so that nothing has to be waited for; each test states the one that it is about. */
export const quick: Partial<Timings> = {
  graceMs: 60,
  closeMs: 300,
  nodeHeartbeatMs: 50,
  /** Long enough that a busy machine evicts no node that runs. */
  nodeSilenceMs: 5_000,
  sweepMs: 600_000,
  drainMs: 50,
  databaseRetryMs: 50,
}

/** A database and a bus, and any number of session gateways on them, which stop with it. */
export async function openCluster(given: { databaseUrl?: string; natsUrl?: string; streamBytes?: number } = {}) {
  await using opening = new AsyncDisposableStack()
  const { url: databaseUrl, orm } = given.databaseUrl
    ? { url: given.databaseUrl, orm: await connectDatabase({ url: given.databaseUrl, connections: 4 }) }
    : opening.use(await openMigratedDatabase({ connections: 4 }))
  if (given.databaseUrl) opening.defer(() => orm.close(true))
  const nats = opening.use(await testNats())
  const natsUrl = given.natsUrl ?? nats.url
  const nodes = opening.use(new AsyncDisposableStack())

  async function openBus(scope: AsyncDisposableStack, url = natsUrl) {
    const { log } = capturedLog()
    const { streamBytes } = given
    const options = { url, name: 'session-gateway', prefix: nats.prefix, log, ...(streamBytes && { streamBytes }) }
    return scope.use(await connectNats(options))
  }

  const identity = opening.use(await answerTokens(await openBus(opening)))

  async function openNodeResources(scope: AsyncDisposableStack, busUrl?: string): Promise<SessionGatewayResources> {
    const ownOrm = await connectDatabase({ url: urlForRole(databaseUrl, 'session-gateway'), connections: 6 })
    scope.defer(() => ownOrm.close(true))
    const database = { url: databaseUrl, orm: ownOrm }
    return scope.use(await openTestResources({ database, bus: await openBus(scope, busUrl) })).resources
  }

  /** A node with the timings given, and the default ones for the rest. */
  async function startNodeWith(options: NodeOptions): Promise<Node> {
    const { config, overrides = {}, clock = systemClock } = options
    await using starting = new AsyncDisposableStack()
    const resources = { ...(await openNodeResources(starting, options.natsUrl)), clock }
    const base = { host: '127.0.0.1', port: 0, drainMs: 3_000, callerKeys: testCallerKeys }
    const service = starting.use(await startSessionGateway({ ...base, ...config }, resources, overrides))
    const scope = starting.move()
    nodes.use(scope)
    return { ...service, resources, dispose: () => scope.disposeAsync() }
  }

  /** A node with short timings. */
  const startNode = (timings: Partial<Timings> = {}, config: Partial<SessionGatewayConfig> = {}) =>
    startNodeWith({ config, overrides: { timings: { ...quick, ...timings } } })

  /** A node with the default timings, and the timer that it runs on. Its heartbeats come by themselves. */
  async function startNodeWithTimer(timings: Partial<Timings> = {}): Promise<{ node: Node; timer: ManualTimer }> {
    const timer = partlyManualTimer()
    const overrides = { timer, timings: { nodeHeartbeatMs: 50, ...timings } }
    return { node: await startNodeWith({ overrides }), timer }
  }

  const open = opening.move()
  return {
    orm,
    databaseUrl,
    natsUrl,
    natsPrefix: nats.prefix,
    /** Answers what tokens claim. */
    identity,
    startNode,
    startNodeWith,
    startNodeWithTimer,
    openBus: () => openBus(nodes),
    sql: <Row>(text: string, parameters: unknown[] = []) => orm.em.fork().execute<Row[]>(text, parameters),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

/** As identity does. */
export async function answerTokens(bus: Bus): Promise<AsyncDisposable> {
  return await bus.respond(readTokenClaims, async ({ tokens }) => ({
    claims: tokens.map((token) => verifyToken(tokenKey, token, Date.now()) ?? null),
  }))
}

/** Delays from 100 ms pass when the test says so; shorter ones, which are between two statements, by themselves. */
function partlyManualTimer(): ManualTimer {
  const manual = manualTimer()
  const ownDelays = new Set<unknown>()
  return {
    ...manual,
    set(run, ms) {
      if (ms >= 100) return manual.set(run, ms)
      const pending = systemTimer.set(run, ms)
      ownDelays.add(pending)
      return pending
    },
    clear: (pending) => (ownDelays.delete(pending) ? systemTimer.clear(pending) : manual.clear(pending)),
  }
}

/** A user with a token issued at `issuedAt`, in milliseconds. */
export async function buildUser(cluster: Cluster, issuedAt = Date.now(), overrides: UserOverrides = {}) {
  const { id, username } = await insertUser(cluster, overrides)
  return { id, username, token: tokenFor({ id, username }, issuedAt) }
}
export type BuiltUser = Awaited<ReturnType<typeof buildUser>>

export function tokenFor(user: { id: string; username: string }, issuedAt = Date.now(), expiresIn = '1h'): string {
  return signToken(tokenKey, { userId: user.id, username: user.username }, { expiresIn, now: issuedAt })
}

export async function befriend(cluster: Cluster, one: BuiltUser, other: BuiltUser): Promise<void> {
  await cluster.sql('insert into friendships (user_id, friend_id) values (?, ?)', [one.id, other.id])
}

export async function statusOf(cluster: Cluster, user: BuiltUser): Promise<string> {
  const [row] = await cluster.sql<{ status: string }>('select status from users where id = ?', [user.id])
  return row!.status
}

/** The account's state in the database. */
export async function stateOf(cluster: Cluster, user: BuiltUser): Promise<AccountState> {
  const [state] = await readAccountStates(cluster.orm.em.fork(), [user.id])
  return state!
}

type PublishedEnding = {
  event: 'PasswordChanged' | 'PasswordReset' | 'SessionsEnded' | 'UserSuspended' | 'UserDeleted'
  at?: number
  audience?: string[]
  /** With PasswordChanged. */
  tokenIssuedAt?: number
}

/** Publishes what ends an account's sessions, as identity does it after the commit. */
export async function publishEnding(
  { cluster, bus }: { cluster: Cluster; bus: Awaited<ReturnType<Cluster['openBus']>> },
  user: BuiltUser,
  { event, at = Date.now(), audience = [], tokenIssuedAt }: PublishedEnding,
): Promise<void> {
  const payload = { userId: user.id, at, state: await stateOf(cluster, user), actor: null }
  const id = randomUUID()
  if (event === 'PasswordChanged') await bus.publish(passwordChanged, { ...payload, tokenIssuedAt }, { id })
  else if (event === 'PasswordReset') await bus.publish(passwordReset, payload, { id })
  else if (event === 'SessionsEnded') await bus.publish(sessionsEnded, payload, { id })
  else if (event === 'UserSuspended') await bus.publish(userSuspended, { ...payload, reason: null }, { id })
  else await bus.publish(userDeleted, { ...payload, mode: 'full', audience }, { id })
}
