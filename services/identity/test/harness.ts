import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMemoryStore, callerHeader, createCallerKey, signCaller } from '@gatehouse/auth'
import { createLocalBus } from '@gatehouse/bus'
import { movableClock, type MovableClock, systemRandom } from '@gatehouse/runtime'
import { connectDatabase, migrateDatabase, openDatabase } from '@gatehouse/database'
import { parseCidrs } from '@gatehouse/outbound'
import { createMetrics, type Ports } from '@gatehouse/service-kit'
import { capturedLog, testDatabase } from '@gatehouse/test-kit'
import type { IdentityConfig } from '../src/config.ts'
import type { Deps } from '../src/deps.ts'
import { startIdentity } from '../src/service.ts'
import { quickHasher, type QuickHasher } from './quick-hasher.ts'

/** Whom the gateway vouches for; `isAdmin` is false unless told. */
export type TestCaller = { id: string; username: string; isAdmin?: boolean }

export type TestAnswer = { status: number; headers: Headers; body: Record<string, unknown>; text: string }

export type TestCall = {
  as?: TestCaller
  /** Sent as JSON; a FormData or a string goes as it is. */
  body?: unknown
  headers?: Record<string, string>
}

export type TestIdentity = AsyncDisposable & {
  url: string
  databaseUrl: string
  config: IdentityConfig
  deps: Deps
  clock: MovableClock
  /** Counts what it did; only when no hasher was given. */
  hasher: QuickHasher
  logLines: Record<string, unknown>[]
  /** Calls a route as the gateway would. */
  call(method: string, path: string, given?: TestCall): Promise<TestAnswer>
}

type Options = {
  config?: Partial<IdentityConfig>
  /** Another replica's, to share its database. */
  databaseUrl?: string
  ports?: Partial<Ports>
  overrides?: Partial<Deps>
}

const internalSecret = 'an internal secret for the tests of identity'

/** One identity service over a database of its own, an in-process bus and cache, and a clock that stands still. */
export async function startTestIdentity(options: Options = {}): Promise<TestIdentity> {
  await using opening = new AsyncDisposableStack()
  const databaseUrl = options.databaseUrl ?? opening.use(await migratedDatabase()).url
  const orm = options.ports?.orm ?? opening.adopt(await openDatabase({ url: databaseUrl }), (open) => open.close())
  const uploadDir = opening.adopt(await mkdtemp(join(tmpdir(), 'identity-')), (folder) =>
    rm(folder, { recursive: true }),
  )
  const { log, lines } = capturedLog()
  const clock = movableClock()
  const ports: Ports = {
    orm,
    bus: options.ports?.bus ?? opening.use(createLocalBus({ log })),
    store: options.ports?.store ?? opening.use(createMemoryStore(clock)),
    clock,
    random: systemRandom,
    log,
    metrics: createMetrics(),
    ...options.ports,
  }
  const config = { ...testConfig(uploadDir), ...options.config }
  const hasher = quickHasher()
  const identity = opening.use(await startIdentity(config, ports, { hasher, ...options.overrides }))
  const open = opening.move()
  return {
    url: identity.url,
    databaseUrl,
    config,
    deps: identity.deps,
    clock,
    hasher,
    logLines: lines,
    call: (method, path, given = {}) => call(identity.url, method, path, { ...given, now: ports.clock.now() }),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

/** A migrated database of one's own. */
export async function migratedDatabase() {
  return await testDatabase({ template: { key: 'migrated', build: migrate } })
}

async function migrate(url: string): Promise<void> {
  const orm = await connectDatabase({ url })
  await migrateDatabase(orm)
  await orm.close()
}

function testConfig(uploadDir: string): IdentityConfig {
  return {
    host: '127.0.0.1',
    port: 0,
    internalSecret,
    jwtSecret: 'a secret for the tokens of the tests of identity',
    jwtExpiresIn: '30d',
    registrationOpen: true,
    publicAddress: { origin: 'https://here.example', domain: 'here.example' },
    reach: { allowPrivate: parseCidrs('loopback'), resolve: {} },
    uploadDir,
    hashing: { threads: 1, queue: 100 },
  }
}

async function call(url: string, method: string, path: string, given: TestCall & { now: number }): Promise<TestAnswer> {
  const account = given.as
    ? { userId: given.as.id, username: given.as.username, isAdmin: given.as.isAdmin ?? false }
    : null
  const statement = signCaller(createCallerKey(internalSecret), { address: '127.0.0.1', account }, given.now)
  const asIs = given.body === undefined || typeof given.body === 'string' || given.body instanceof FormData
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      [callerHeader]: statement,
      ...(given.body instanceof FormData ? {} : { 'content-type': 'application/json' }),
      ...given.headers,
    },
    ...(given.body === undefined ? {} : { body: asIs ? (given.body as string) : JSON.stringify(given.body) }),
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') ?? false
  const body = (isJson ? JSON.parse(text) : {}) as Record<string, unknown>
  return { status: response.status, headers: response.headers, body, text }
}
