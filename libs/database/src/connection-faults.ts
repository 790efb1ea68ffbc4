import { Unavailable } from '@gatehouse/runtime'
import { DatabaseError, type Pool, type PoolClient } from 'pg'
import { closeSilentConnections, type AnswerLimits } from './silent-connections.ts'
import { traceQueries } from './trace-queries.ts'

/** PostgreSQL cannot be used. At the start `message` is one line that names the variable and the remedy. */
export class DatabaseUnavailable extends Unavailable {
  override readonly name = 'DatabaseUnavailable'
}

/** How long the holder of a connection that ended has for releasing it itself. */
const releaseGraceMs = 1_000

/** For `driverOptions.onPoolCreated`. */
export function guardPool(pool: Pool, limits?: AnswerLimits): void {
  wrapConnectionFaults(pool)
  closeSilentConnections(pool, limits)
  traceQueries(pool)
  reclaimDeadConnections(pool)
}

/** Connections that cannot be had or that end while a statement runs, and timeouts, reject with DatabaseUnavailable. */
function wrapConnectionFaults(pool: Pool): void {
  const connect = pool.connect.bind(pool) as (...given: unknown[]) => unknown
  pool.connect = ((...given: unknown[]) => rejecting(connect(...given), unavailable)) as Pool['connect']
  pool.on('connect', (client) => {
    let lost = false
    client.once('error', () => (lost = true))
    client.once('end', () => (lost = true))
    const query = client.query.bind(client) as (...given: unknown[]) => unknown
    const classified = (fault: unknown) => (lost || isUnavailable(fault) ? unavailable(fault) : fault)
    client.query = ((...given: unknown[]) => rejecting(query(...given), classified)) as PoolClient['query']
  })
}

function rejecting(result: unknown, classify: (fault: unknown) => unknown): unknown {
  if (!(result instanceof Promise)) return result
  return result.catch((fault: unknown) => {
    throw classify(fault)
  })
}

function unavailable(cause: unknown): DatabaseUnavailable {
  const isTimeout = cause instanceof DatabaseError && timeouts.test(cause.code ?? '')
  const message = isTimeout
    ? 'PostgreSQL ended a statement in time'
    : 'the connection to PostgreSQL was refused or lost'
  return new DatabaseUnavailable(message, { cause })
}

/** Class 08 of the SQLSTATEs is connection faults; 57P01 to 57P03 are shutdown, crash and start of the server. */
const endedConnections = /^(08...|57P0[123])$/

/** A lock, a statement or an idle transaction that lasted longer than the session's timeouts allow. */
const timeouts = /^(55P03|57014|25P0[34])$/

function isUnavailable(fault: unknown): boolean {
  if (!(fault instanceof DatabaseError)) return false
  return endedConnections.test(fault.code ?? '') || timeouts.test(fault.code ?? '')
}

/**
 * Releases connections that ended inside a transaction. The ORM releases a connection only after a successful commit or
 * rollback, and on one that ended both fail: each would keep its place in the pool, until the pool is exhausted.
 */
export function reclaimDeadConnections(pool: Pool): void {
  const inUse = new Set<PoolClient>()
  pool.on('acquire', (client) => inUse.add(client))
  pool.on('release', (_error, client) => inUse.delete(client))
  pool.on('connect', (client) => {
    client.once('end', () => {
      // A second release would throw and hide the error that has the cause: the holder comes first.
      setTimeout(() => inUse.has(client) && client.release(true), releaseGraceMs).unref()
    })
  })
}
