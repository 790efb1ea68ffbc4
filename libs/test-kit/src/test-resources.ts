import { createMemoryCache } from '@gatehouse/auth'
import { createLocalBus } from '@gatehouse/bus'
import { movableClock, systemRandom, type MovableClock } from '@gatehouse/runtime'
import { createMetrics, type Resources } from '@gatehouse/service-kit'
import type { MikroORM } from '@mikro-orm/postgresql'
import { capturedLog } from './captured-log.ts'
import { openMigratedDatabase } from './migrated-database.ts'

export type TestResources = AsyncDisposable & {
  resources: Resources & { clock: MovableClock }
  databaseUrl: string
  /** What was logged, one parsed object for each line. */
  lines: Record<string, unknown>[]
}

type Overrides = Partial<Omit<Resources, 'clock' | 'orm'>> & {
  clock?: MovableClock
  /** Another service's, to share its database. */
  database?: { url: string; orm: MikroORM }
  connections?: number
}

/** What a service needs to run in a test: a migrated database, an in-process bus and cache, a clock that stands still. */
export async function openTestResources(overrides: Overrides = {}): Promise<TestResources> {
  await using opening = new AsyncDisposableStack()
  const { database: shared, connections = 20, ...given } = overrides
  const database = shared ?? opening.use(await openMigratedDatabase({ connections }))
  const { log, lines } = capturedLog()
  const clock = given.clock ?? movableClock()
  const resources = {
    orm: database.orm,
    bus: given.bus ?? opening.use(createLocalBus({ log })),
    accountStateCache: given.accountStateCache ?? opening.use(createMemoryCache(clock)),
    random: systemRandom,
    log,
    metrics: createMetrics(),
    ...given,
    clock,
  }
  const open = opening.move()
  return { resources, databaseUrl: database.url, lines, [Symbol.asyncDispose]: () => open.disposeAsync() }
}
