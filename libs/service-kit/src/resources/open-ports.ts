import type { MikroORM } from '@mikro-orm/postgresql'
import { connectRedisStore, type StateStore } from '@gatehouse/auth'
import { connectNats, type Bus } from '@gatehouse/bus'
import { systemClock, type Clock, systemRandom, type Random } from '@gatehouse/runtime'
import { openDatabase } from '@gatehouse/database'
import { ConfigurationError } from '../configuration.ts'
import { createLog, type Log } from '../log.ts'
import { createMetrics, type Metrics } from '../metrics.ts'

/** What the gateway stands on: it keeps no data of its own. */
export type EdgePorts = {
  bus: Bus
  store: StateStore
  clock: Clock
  random: Random
  log: Log
  metrics: Metrics
}

/** What a service stands on. It does not know whether it runs embedded or distributed. */
export type Ports = EdgePorts & { orm: MikroORM }

type Places = { name: string; natsUrl: string; redisUrl: string; logLevel: string }

/** Connects to NATS and Redis. Rejects with one clear line when one of them is away. */
export async function openEdgePorts(places: Places): Promise<EdgePorts & AsyncDisposable> {
  const log = createLog({ level: places.logLevel, service: places.name })
  await using opening = new AsyncDisposableStack()
  const bus = opening.use(await naming('NATS_URL', connectNats({ url: places.natsUrl, name: places.name, log })))
  const redis = connectRedisStore({ url: places.redisUrl, random: systemRandom, log })
  const store = opening.use(await naming('REDIS_URL', redis))
  const open = opening.move()
  const ports = { bus, store, clock: systemClock, random: systemRandom, log, metrics: createMetrics() }
  return { ...ports, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** Opens the database too. Rejects when it is away or has pending migrations. */
export async function openPorts(
  places: Places & { databaseUrl: string; databaseConnections?: number },
): Promise<Ports & AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  const orm = await openDatabase({
    url: places.databaseUrl,
    applicationName: `gatehouse-${places.name}`,
    ...(places.databaseConnections ? { connections: places.databaseConnections } : {}),
  })
  opening.defer(() => orm.close())
  const edge = opening.use(await openEdgePorts(places))
  const open = opening.move()
  return { ...edge, orm, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** A connection that fails at start is the operator's to mend: the message names the variable. */
async function naming<T>(variable: string, connecting: Promise<T>): Promise<T> {
  try {
    return await connecting
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ConfigurationError([`${variable}: ${reason}; check the variable and that the server runs`], { cause })
  }
}
