import { Unavailable } from '@gatehouse/runtime'
import { DatabaseError, type Pool, type PoolClient } from 'pg'
import { closeSilentConnections, type AnswerLimits } from './silent-connections.ts'
import { traceQueries } from './trace-queries.ts'

/** At the start, `message` is one line with the variable and the remedy. */
export class DatabaseUnavailable extends Unavailable {
  override readonly name = 'DatabaseUnavailable'
}

/** The holder of an ended connection should release it first. */
const releaseGraceMs = 1_000

export function guardPool(pool: Pool, limits?: AnswerLimits): void {
  wrapConnectionFaults(pool)
  closeSilentConnections(pool, limits)
  traceQueries(pool)
  reclaimDeadConnections(pool)
}

/** Lost connections and timeouts reject with DatabaseUnavailable. */
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

/** SQLSTATE 08: connection faults. 57P01 to 57P03: shutdown, crash and start. */
const endedConnections = /^(08...|57P0[123])$/

const timeouts = /^(55P03|57014|25P0[34])$/

function isUnavailable(fault: unknown): boolean {
  if (!(fault instanceof DatabaseError)) return false
  return endedConnections.test(fault.code ?? '') || timeouts.test(fault.code ?? '')
}

/** The ORM's commit and rollback fail on an ended connection. The ORM then never releases it, and the pool fills. */
export function reclaimDeadConnections(pool: Pool): void {
  const inUse = new Set<PoolClient>()
  pool.on('acquire', (client) => inUse.add(client))
  pool.on('release', (_error, client) => inUse.delete(client))
  pool.on('connect', (client) => {
    client.once('end', () => {
      // A second release throws and hides the cause.
      setTimeout(() => inUse.has(client) && client.release(true), releaseGraceMs).unref()
    })
  })
}
