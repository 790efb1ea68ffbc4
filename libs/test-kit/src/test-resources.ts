import { createMemoryCache } from '@gatehouse/authority'
import { createLocalBus } from '@gatehouse/bus'
import { connectDatabase, urlForRole, type DatabaseService } from '@gatehouse/database'
import { systemRandom } from '@gatehouse/runtime'
import { createMetrics, type Resources } from '@gatehouse/service-kit'
import { movableClock, type MovableClock } from './time.ts'
import type { MikroORM } from '@mikro-orm/postgresql'
import { capturedLog } from './captured-log.ts'
import { openMigratedDatabase } from './migrated-database.ts'

export type TestResources = AsyncDisposable & {
  resources: Resources & { clock: MovableClock }
  databaseUrl: string
  /** As the owner of the schema: a test prepares and looks at what the service may not. */
  ownerOrm: MikroORM
  /** What was logged, one parsed object for each line. */
  lines: Record<string, unknown>[]
}

type Overrides = Partial<Omit<Resources, 'clock' | 'orm'>> & {
  clock?: MovableClock
  /** Another service's, to share its database; as its owner. */
  database?: { url: string; orm: MikroORM }
  /** Connects as the role of this service, so that its tests hold its grants (libs/database/src/grants.ts). */
  service?: DatabaseService
  connections?: number
}

/** What a service needs to run in a test: a migrated database, an in-process bus and cache, a clock that stands still. */
export async function openTestResources(overrides: Overrides = {}): Promise<TestResources> {
  await using opening = new AsyncDisposableStack()
  const { database: shared, connections = 20, service, ...resourceOverrides } = overrides
  const database = shared ?? opening.use(await openMigratedDatabase({ connections }))
  const orm = service
    ? opening.adopt(await connectDatabase({ url: urlForRole(database.url, service), connections }), closeNow)
    : database.orm
  const { log, lines } = capturedLog()
  if (service) opening.defer(() => assertGranted(service, lines))
  const clock = resourceOverrides.clock ?? movableClock()
  const resources = {
    orm,
    bus: resourceOverrides.bus ?? opening.use(createLocalBus({ log })),
    accountStateCache: resourceOverrides.accountStateCache ?? opening.use(createMemoryCache(clock)),
    random: systemRandom,
    log,
    metrics: createMetrics(),
    ...resourceOverrides,
    clock,
  }
  const open = opening.move()
  return {
    resources,
    databaseUrl: database.url,
    ownerOrm: database.orm,
    lines,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

/**
 * The dependencies of a running service with the owner's ORM in the place of its own: for tests that prepare and look at
 * what the service may not. The service keeps its role, and what a test sets in them counts for the service.
 */
export function asOwner<Deps extends { orm: MikroORM }>(deps: Deps, ownerOrm: MikroORM): Deps {
  return new Proxy(deps, { get: (of, name) => (name === 'orm' ? ownerOrm : (Reflect.get(of, name) as unknown)) })
}

const closeNow = (orm: MikroORM) => orm.close(true)

/** Also a denial that the service answered or that it tries again fails the test, with what is to be done. */
function assertGranted(service: DatabaseService, lines: readonly object[]): void {
  const [denial] = /permission denied for \w+ \w+/.exec(JSON.stringify(lines)) ?? []
  if (denial) throw new Error(`${denial}: a grant of ${service} is missing in libs/database/src/grants.ts`)
}
