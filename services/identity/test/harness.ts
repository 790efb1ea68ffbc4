import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bus } from '@gatehouse/bus'
import { checkHomeEpoch, lookUpByHomeId, verifyAttachProof } from '@gatehouse/contracts'
import { connectDatabase } from '@gatehouse/database'
import { parseCidrs } from '@gatehouse/outbound'
import type { Random } from '@gatehouse/runtime'
import {
  asOwner,
  createServiceClient,
  openTestResources,
  testCallerKeys,
  type ServiceClient,
} from '@gatehouse/test-kit'
import type { z } from 'zod'
import type { IdentityConfig } from '../src/config.ts'
import type { Deps } from '../src/deps.ts'
import { startIdentity } from '../src/service.ts'
import { quickHasher, type QuickHasher } from './quick-hasher.ts'

type Replies = {
  epoch: z.infer<typeof checkHomeEpoch.reply>
  user: z.infer<typeof lookUpByHomeId.reply>
  proof: z.infer<typeof verifyAttachProof.reply>
}

/** Stands for federation-fanout: what it answers, and what it was asked. No home is a peer, unless told otherwise. */
export type FakeFederation = Replies & {
  asked: unknown[]
  /** Nobody answers any more. */
  leave: () => Promise<void>
}

export type { TestResponse } from '@gatehouse/test-kit'
import { manualTimer, type ManualTimer, type MovableClock } from '@gatehouse/test-kit/time'

export type TestIdentity = AsyncDisposable & {
  url: string
  databaseUrl: string
  config: IdentityConfig
  deps: Deps
  clock: MovableClock
  /** Of the periodic tasks: none runs by itself, so that no cleanup takes a row that a test wrote with an old time. */
  timer: ManualTimer
  /** Counts what it did; only when no hasher was given. */
  hasher: QuickHasher
  federation: FakeFederation
  logLines: Record<string, unknown>[]
  /** Calls a route as the gateway would. */
  call: ServiceClient
}

type Options = {
  config?: Partial<IdentityConfig>
  /** Another replica's, to share its database. */
  databaseUrl?: string
  random?: Random
  bus?: Bus
  /** Of the pool. */
  connections?: number
  overrides?: Partial<Deps>
}

/** One identity service over a database of its own, an in-process bus and cache, and a clock that stands still. */
export async function startTestIdentity(options: Options = {}): Promise<TestIdentity> {
  await using opening = new AsyncDisposableStack()
  const { databaseUrl: sharedUrl, random, bus, connections } = options
  const database = sharedUrl && {
    url: sharedUrl,
    orm: opening.adopt(await connectDatabase({ url: sharedUrl }), (orm) => orm.close()),
  }
  const { resources, databaseUrl, ownerOrm, lines } = opening.use(
    await openTestResources({
      service: 'identity',
      ...(database && { database }),
      ...(random && { random }),
      ...(bus && { bus }),
      ...(connections && { connections }),
    }),
  )
  // A folder above that of the uploads: what tests put beside it is removed too.
  const folder = opening.adopt(await mkdtemp(join(tmpdir(), 'identity-')), (path) => rm(path, { recursive: true }))
  const config = { ...testConfig(join(folder, 'uploads')), ...options.config }
  const federation = await fakeFederation(opening, resources.bus)
  const hasher = quickHasher()
  // Tests move the clock, and the database's with it. A wait moves both.
  const databaseTime = async (_em: unknown, afterMs = 0) => {
    resources.clock.advance(afterMs)
    return resources.clock.now()
  }
  const timer = manualTimer()
  const overrides = { hasher, databaseTime, timer, ...options.overrides }
  const identity = opening.use(await startIdentity(config, resources, overrides))
  const { clock } = resources
  const call = createServiceClient({ name: 'identity', url: identity.url, clock })
  const open = opening.move()
  return {
    url: identity.url,
    databaseUrl,
    config,
    deps: asOwner(identity.deps, ownerOrm),
    clock,
    timer,
    hasher,
    federation,
    logLines: lines,
    call,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

async function fakeFederation(opening: AsyncDisposableStack, bus: Bus): Promise<FakeFederation> {
  const fake: FakeFederation = {
    epoch: { outcome: 'unknown' },
    user: { outcome: 'no_peer' },
    proof: { outcome: 'no_peer' },
    asked: [],
    leave: async () => undefined,
  }
  const responders = opening.use(new AsyncDisposableStack())
  responders.use(await bus.respond(checkHomeEpoch, async (asked) => (fake.asked.push(asked), fake.epoch)))
  responders.use(await bus.respond(lookUpByHomeId, async (asked) => (fake.asked.push(asked), fake.user)))
  responders.use(await bus.respond(verifyAttachProof, async (asked) => (fake.asked.push(asked), fake.proof)))
  fake.leave = async () => await responders.disposeAsync()
  return fake
}

function testConfig(uploadDir: string): IdentityConfig {
  return {
    host: '127.0.0.1',
    port: 0,
    drainMs: 1_000,
    callerKeys: testCallerKeys,
    jwtSecret: 'a secret for the tokens of the tests of identity',
    encryptionSecret: 'a secret that encrypts in the tests of identity',
    jwtExpiresIn: '30d',
    jwtRenew: true,
    passwords: true,
    registrationOpen: true,
    publicAddress: { origin: 'https://here.example', domain: 'here.example' },
    passkeyOrigins: ['https://www.here.example', 'https://here.test'],
    reach: { allowPrivate: parseCidrs('loopback'), resolve: {} },
    uploadDir,
    uploadStore: { folder: uploadDir },
    hashing: { threads: 1, queue: 100 },
    auditRetentionDays: 0,
  }
}
