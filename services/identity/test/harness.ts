import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectDatabase } from '@gatehouse/database'
import { parseCidrs } from '@gatehouse/outbound'
import type { MovableClock, Random } from '@gatehouse/runtime'
import { createServiceClient, openTestResources, type ServiceClient } from '@gatehouse/test-kit'
import type { IdentityConfig } from '../src/config.ts'
import type { Deps } from '../src/deps.ts'
import { startIdentity } from '../src/service.ts'
import { quickHasher, type QuickHasher } from './quick-hasher.ts'

export type { TestResponse } from '@gatehouse/test-kit'

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
  call: ServiceClient
}

type Options = {
  config?: Partial<IdentityConfig>
  /** Another replica's, to share its database. */
  databaseUrl?: string
  random?: Random
  overrides?: Partial<Deps>
}

/** One identity service over a database of its own, an in-process bus and cache, and a clock that stands still. */
export async function startTestIdentity(options: Options = {}): Promise<TestIdentity> {
  await using opening = new AsyncDisposableStack()
  const { databaseUrl: sharedUrl, random } = options
  const database = sharedUrl && {
    url: sharedUrl,
    orm: opening.adopt(await connectDatabase({ url: sharedUrl }), (orm) => orm.close()),
  }
  const { resources, databaseUrl, lines } = opening.use(
    await openTestResources({ ...(database && { database }), ...(random && { random }) }),
  )
  // A folder above that of the uploads: what tests put beside it is removed too.
  const folder = opening.adopt(await mkdtemp(join(tmpdir(), 'identity-')), (path) => rm(path, { recursive: true }))
  const config = { ...testConfig(join(folder, 'uploads')), ...options.config }
  const hasher = quickHasher()
  const identity = opening.use(await startIdentity(config, resources, { hasher, ...options.overrides }))
  const { clock } = resources
  const call = createServiceClient({ url: identity.url, internalSecret: config.internalSecret, clock })
  const open = opening.move()
  return {
    url: identity.url,
    databaseUrl,
    config,
    deps: identity.deps,
    clock,
    hasher,
    logLines: lines,
    call,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

function testConfig(uploadDir: string): IdentityConfig {
  return {
    host: '127.0.0.1',
    port: 0,
    internalSecret: 'an internal secret for the tests of identity',
    jwtSecret: 'a secret for the tokens of the tests of identity',
    jwtExpiresIn: '30d',
    registrationOpen: true,
    publicAddress: { origin: 'https://here.example', domain: 'here.example' },
    reach: { allowPrivate: parseCidrs('loopback'), resolve: {} },
    uploadDir,
    hashing: { threads: 1, queue: 100 },
  }
}
