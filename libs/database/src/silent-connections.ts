import type { Socket } from 'node:net'
import type { Client, Pool, PoolClient } from 'pg'
import { answerMarginMs, sessionTimeouts } from './policy.ts'

/** `statementMs`: after which PostgreSQL ends a statement; `marginMs`: how much later its answer is here at the latest. */
export type AnswerLimits = { statementMs: number; marginMs: number }

const defaultLimits: AnswerLimits = { statementMs: sessionTimeouts.statement_timeout, marginMs: answerMarginMs }

/** How a transaction gives itself another time for statements; 0 is none. The number in milliseconds follows. */
const ownStatementTimeout = 'set local statement_timeout = '

/**
 * Closes connections on which a statement runs and nothing has arrived for longer than PostgreSQL lets it run: a host that
 * failed, or a firewall that forgot the connection, resets nothing, and TCP takes 15 minutes to give up. The statements read
 * as DatabaseUnavailable, and no later one meets their replies.
 *
 * NOTE: not pg's `query_timeout`. It puts the connection back into the pool, where the next statement waits behind the one
 * that has no answer; and it takes a timer for each statement. docs/decisions/bounded-waits.md.
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
  // The socket starts this time again with all that it sends and receives.
  socket.on('timeout', () => {
    if (isWaiting) socket.destroy(new Error(`no answer from PostgreSQL within ${socket.timeout} ms`))
  })
  setLimit(statementMs)
}
