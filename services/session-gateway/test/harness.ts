import { createMemoryStore, createTokenKey, signToken } from '@gatehouse/auth'
import { connectNats } from '@gatehouse/bus'
import { systemClock, systemRandom } from '@gatehouse/runtime'
import { connectDatabase, migrateDatabase } from '@gatehouse/database'
import { createMetrics, type Ports, type RunningService } from '@gatehouse/service-kit'
import { startSessionGateway, type SessionGatewayConfig } from '@gatehouse/session-gateway'
import { capturedLog, testDatabase, testNats } from '@gatehouse/test-kit'

export const internalSecret = 'internal secret of the session gateway tests'
export const jwtSecret = 'signing secret of the session gateway tests'
const tokenKey = createTokenKey(jwtSecret)

export type Node = RunningService & { ports: Ports; lines: Record<string, unknown>[]; dispose(): Promise<void> }
export type World = Awaited<ReturnType<typeof openWorld>>
type Timings = NonNullable<SessionGatewayConfig['timings']>

/** Short, so that nothing has to be waited for; each test states the one that it is about. */
export const quick: Timings = {
  graceMs: 60,
  closeMs: 300,
  nodeHeartbeatMs: 50,
  nodeSilenceMs: 500,
  sweepMs: 600_000,
  drainMs: 50,
  databaseRetryMs: 50,
}

/** A database and a bus, and any number of session gateways on them, which stop with it. */
export async function openWorld(given: { databaseUrl?: string; natsUrl?: string } = {}) {
  await using opening = new AsyncDisposableStack()
  const database = given.databaseUrl ? { url: given.databaseUrl } : opening.use(await migratedDatabase())
  const nats = opening.use(await testNats())
  const natsUrl = given.natsUrl ?? nats.url
  const orm = await connectDatabase({ url: database.url, connections: 4 })
  opening.defer(() => orm.close(true))
  const nodes = opening.use(new AsyncDisposableStack())

  async function openPortsOf(scope: AsyncDisposableStack) {
    const { log, lines } = capturedLog()
    const own = await connectDatabase({ url: database.url, connections: 6 })
    scope.defer(() => own.close(true))
    const bus = scope.use(await connectNats({ url: natsUrl, name: 'session-gateway', prefix: nats.prefix, log }))
    const store = scope.use(createMemoryStore(systemClock))
    const ports: Ports = {
      orm: own,
      bus,
      store,
      clock: systemClock,
      random: systemRandom,
      log,
      metrics: createMetrics(),
    }
    return { ports, lines }
  }

  async function startNode(timings: Timings = {}, config: Partial<SessionGatewayConfig> = {}): Promise<Node> {
    await using starting = new AsyncDisposableStack()
    const { ports, lines } = await openPortsOf(starting)
    const base = { host: '127.0.0.1', port: 0, internalSecret, jwtSecret, timings: { ...quick, ...timings } }
    const service = starting.use(await startSessionGateway({ ...base, ...config }, ports))
    const scope = starting.move()
    nodes.use(scope)
    return { ...service, ports, lines, dispose: () => scope.disposeAsync() }
  }

  const open = opening.move()
  return {
    orm,
    databaseUrl: database.url,
    natsUrl,
    natsPrefix: nats.prefix,
    startNode,
    bus: async () => (await openPortsOf(nodes)).ports.bus,
    sql: <Row>(text: string, parameters: unknown[] = []) => orm.em.fork().execute<Row[]>(text, parameters),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

export function migratedDatabase() {
  return testDatabase({
    template: {
      key: 'migrated',
      build: async (url) => {
        const orm = await connectDatabase({ url })
        await migrateDatabase(orm)
        await orm.close(true)
      },
    },
  })
}

let usersBuilt = 0

/** A user with a token of theirs; `bornAt` of the token in milliseconds. */
export async function buildUser(world: World, bornAt = Date.now()) {
  usersBuilt += 1
  const username = `user${usersBuilt}`
  const insert = `insert into users (id, username, password_hash) values (next_snowflake(), ?, '!none') returning id::text`
  const [row] = await world.sql<{ id: string }>(insert, [username])
  return { id: row!.id, username, token: tokenFor({ id: row!.id, username }, bornAt) }
}
export type BuiltUser = Awaited<ReturnType<typeof buildUser>>

export function tokenFor(user: { id: string; username: string }, bornAt = Date.now(), expiresIn = '1h'): string {
  return signToken(tokenKey, { userId: user.id, username: user.username }, { expiresIn, now: bornAt })
}

export async function befriend(world: World, one: BuiltUser, other: BuiltUser): Promise<void> {
  await world.sql('insert into friendships (user_id, friend_id) values (?, ?)', [one.id, other.id])
}

export async function statusOf(world: World, user: BuiltUser): Promise<string> {
  const [row] = await world.sql<{ status: string }>('select status from users where id = ?', [user.id])
  return row!.status
}
