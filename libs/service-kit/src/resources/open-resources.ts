import { type AccountStateCache, connectRedisCache } from '@gatehouse/authority'
import { setTimeout as pause } from 'node:timers/promises'
import { connectNats, traceBus, type Bus } from '@gatehouse/bus'
import { systemClock, systemRandom, version, type Clock, type Random, type Tracing } from '@gatehouse/runtime'
import type { MikroORM } from '@mikro-orm/postgresql'
import { DatabaseUnavailable, openDatabase, type DatabaseOptions } from '@gatehouse/database'
import { ConfigurationError } from '../config/configuration.ts'
import type { ServerAddress } from '../config/settings.ts'
import { createLog, type Log } from '../log/log.ts'
import { createMetrics, type Metrics } from '../metrics/metrics.ts'
import type { TracingOptions, OpenTracing } from '../tracing/otlp-tracing.ts'
import { databaseRetryMs } from '../policy.ts'

export type Context = { clock: Clock; random: Random; log: Log; metrics: Metrics; tracing?: Tracing }
export type Resources = Context & { orm: MikroORM; bus: Bus; accountStateCache: AccountStateCache }

export type ResourceOptions = {
  logLevel: string
  tracing?: TracingOptions
  postgres?: Pick<DatabaseOptions, 'url' | 'connections' | 'needsWrites'>
  nats?: ServerAddress
  redis?: ServerAddress
}

export type Opened<O extends ResourceOptions> = Context &
  (O extends { postgres: object } ? Pick<Resources, 'orm'> : unknown) &
  (O extends { nats: object } ? Pick<Resources, 'bus'> : unknown) &
  (O extends { redis: object } ? Pick<Resources, 'accountStateCache'> : unknown)

/** Waits for PostgreSQL, not for NATS and Redis. Throws ConfigurationError, and DatabaseUnavailable on pending migrations. Contract: 8, start. */
export async function openResources<O extends ResourceOptions>(
  name: string,
  options: O,
  waiting: Waiting = {},
): Promise<Opened<O> & AsyncDisposable> {
  const { postgres, nats, redis, logLevel } = options
  const log = createLog({ level: logLevel, service: name })
  await using opening = new AsyncDisposableStack()
  const tracing = options.tracing && opening.use(await openTracing(name, options.tracing, log))
  const resources: Context & Partial<Resources> = {
    ...(tracing && { tracing }),
    clock: systemClock,
    random: systemRandom,
    log,
    metrics: createMetrics(),
  }
  if (postgres) {
    resources.orm = await awaitDatabase({ ...postgres, applicationName: `gatehouse-${name}/${version}` }, log, waiting)
    opening.adopt(resources.orm, (orm) => orm.close())
  }
  if (nats) {
    const createsStreams = name === 'identity'
    const bus = opening.use(await connecting('NATS_URL', connectNats({ ...nats, name, log, createsStreams })))
    resources.bus = tracing ? traceBus(bus, tracing) : bus
  }
  if (redis) {
    const cache = connectRedisCache({ ...redis, random: systemRandom, log })
    resources.accountStateCache = opening.use(await connecting('REDIS_URL', cache))
  }
  const open = opening.move()
  return { ...(resources as Opened<O>), [Symbol.asyncDispose]: () => open.disposeAsync() }
}

async function connecting<T>(variable: string, connection: Promise<T>): Promise<T> {
  try {
    return await connection
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ConfigurationError([`${variable}: ${reason}; check the variable and that the server runs`], { cause })
  }
}

type Waiting = { stopRequested?: AbortSignal; whileWaiting?: () => Promise<AsyncDisposable> }

/** Throws DatabaseUnavailable on pending migrations. Contract: 8, schema. */
async function awaitDatabase(options: DatabaseOptions, log: Log, { stopRequested, whileWaiting }: Waiting) {
  await using meanwhile = new AsyncDisposableStack()
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await openDatabase(options)
    } catch (error) {
      const isAway = error instanceof DatabaseUnavailable && (error.cause ?? error.fault) !== undefined
      if (!isAway) throw error
      stopRequested?.throwIfAborted()
      if (attempt === 1) {
        log.warn({ reason: error.message }, 'waiting for PostgreSQL')
        if (whileWaiting) meanwhile.use(await whileWaiting())
      }
    }
    await pause(databaseRetryMs, undefined, { signal: stopRequested }).catch(() => stopRequested?.throwIfAborted())
  }
}

/** Loads the library only when needed. Disposing sends what is left. Contract: 8, settings, OTEL_EXPORTER_OTLP_ENDPOINT. */
export async function openTracing(name: string, options: TracingOptions, log: Log): Promise<OpenTracing> {
  const { createOtlpTracing } = await import('../tracing/otlp-tracing.ts')
  return createOtlpTracing(name, options, log)
}
