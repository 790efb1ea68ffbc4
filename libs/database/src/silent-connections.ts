import type { Socket } from 'node:net'
import type { Client, Pool, PoolClient } from 'pg'
import { answerMarginMs, sessionTimeouts } from './policy.ts'

/** PostgreSQL ends a statement after `statementMs`. Its answer comes at most `marginMs` later. */
export type AnswerLimits = { statementMs: number; marginMs: number }

const defaultLimits: AnswerLimits = { statementMs: sessionTimeouts.statement_timeout, marginMs: answerMarginMs }

/** A number in milliseconds follows; 0 is no limit. */
const ownStatementTimeout = 'set local statement_timeout = '

/**
 * A dead host sends no reset, and TCP needs 15 minutes to give up. Rejects with DatabaseUnavailable. NOTE: pg's
 * `query_timeout` would put the connection back into the pool. docs/decisions/bounded-waits.md.
 */
export function closeSilentConnections(pool: Pool, limits = defaultLimits): void {
  pool.on('connect', (client) => watchAnswers(client as PoolClient & Client, limits))
}

function watchAnswers(client: PoolClient & Client, { statementMs, marginMs }: AnswerLimits): void {
  const socket = client.connection.stream as Socket
  let isWaiting = false
  let hasOwnTimeout = false
  const setLimit = (ms: number): void => void socket.setTimeout(ms === 0 ? 0 : ms + marginMs)

  const query = client.query.bind(client) as (...given: unknown[]) => unknown
  client.query = ((...given: unknown[]) => {
    isWaiting = true
    const [sql] = given
    if (typeof sql === 'string' && sql.startsWith(ownStatementTimeout)) {
      hasOwnTimeout = true
      setLimit(Number.parseInt(sql.slice(ownStatementTimeout.length), 10))
    }
    return query(...given)
  }) as PoolClient['query']
  client.on('drain', () => {
    isWaiting = false
    if (!hasOwnTimeout || client.getTransactionStatus() !== 'I') return
    hasOwnTimeout = false
    setLimit(statementMs)
  })
  // Sent and received data restart the time.
  socket.on('timeout', () => {
    if (isWaiting) socket.destroy(new Error(`no answer from PostgreSQL within ${socket.timeout} ms`))
  })
  setLimit(statementMs)
}
