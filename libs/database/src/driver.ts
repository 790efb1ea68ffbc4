import { AsyncLocalStorage } from 'node:async_hooks'
import { channel } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { Unavailable, currentSpan, type Span } from '@gatehouse/runtime'
import { PostgreSqlDriver, type DriverException, type EntityManager } from '@mikro-orm/postgresql'
import { Client, DatabaseError } from 'pg'
import type { ClientBase, ClientConfig, Pool, PoolClient, PoolConfig } from 'pg'
import { answerMarginMs, connectTimeoutMs, keepAliveMs, sessionTimeouts } from './policy.ts'
import { DatabaseSocket } from './remembered-addresses.ts'

/** At the start, `message` is one line with the variable and the remedy. */
export class DatabaseUnavailable extends Unavailable {
  override readonly name = 'DatabaseUnavailable'
}

/** PostgreSQL ends a statement after `statementMs`. Its answer comes at most `marginMs` later. */
export type AnswerLimits = { statementMs: number; marginMs: number }

const defaultLimits: AnswerLimits = { statementMs: sessionTimeouts.statement_timeout, marginMs: answerMarginMs }

/** The holder of an ended connection should release it first. */
const releaseGraceMs = 1_000
const maxTraceLength = 2_000

/** The test runner listens, and holds design's invariant 13 for every statement. */
const statements = channel('gatehouse:statement')

const ownStatementMs = new AsyncLocalStorage<number>()

/** `work` sends one message, which sets `statement_timeout` for its transaction. 0 is no limit. */
export async function withStatementLimit<T>(statementMs: number, work: () => Promise<T>): Promise<T> {
  return await ownStatementMs.run(statementMs, work)
}

/**
 * A connection of the pool: it traces statements inside a span, names faults and gives up a silent server. A dead host
 * sends no reset, and TCP needs 15 minutes to give up. NOTE: pg's `query_timeout` would put the connection back into the
 * pool. docs/decisions/bounded-waits.md.
 */
class PooledConnection extends Client {
  /** The pool sets it. Throws when called again. */
  declare release?: PoolClient['release']
  readonly #limits: AnswerLimits
  #isLost = false
  #isWaiting = false
  #hasOwnLimit = false

  constructor(config: ClientConfig & { answerLimits?: AnswerLimits } = {}) {
    super(config)
    this.#limits = config.answerLimits ?? defaultLimits
    this.once('connect', () => {
      const socket = this.#socket
      // Sent and received data restart the time.
      socket.on('timeout', () => {
        if (this.#isWaiting) socket.destroy(new Error(`no answer from PostgreSQL within ${socket.timeout} ms`))
      })
      this.#limitAnswers(this.#limits.statementMs)
    })
    this.on('drain', () => {
      this.#isWaiting = false
      if (this.#hasOwnLimit && this.getTransactionStatus() === 'I') this.#limitAnswers(this.#limits.statementMs)
    })
    this.on('error', () => (this.#isLost = true))
    this.once('end', () => {
      this.#isLost = true
      setTimeout(() => this.#reclaim(), releaseGraceMs).unref()
    })
  }

  override query(...given: unknown[]): never {
    this.#isWaiting = true
    const ownMs = ownStatementMs.getStore()
    if (ownMs !== undefined) this.#limitAnswers(ownMs)
    if (statements.hasSubscribers) {
      const text = textOf(given[0]) ?? ''
      statements.publish({ user: this.user ?? '', text, form: withoutValues(text) })
    }
    const span = startSpan(given[0])
    const result: unknown = super.query(...(given as [string]))
    if (result instanceof Promise) return this.#settle(result, span) as never
    span?.end()
    return result as never
  }

  async #settle(result: Promise<unknown>, span: Span | undefined): Promise<unknown> {
    try {
      const value = await result
      span?.end()
      return value
    } catch (fault) {
      const error = this.#isLost || isUnavailable(fault) ? unavailable(fault) : fault
      span?.end(error)
      throw error
    }
  }

  get #socket(): Socket {
    return this.connection.stream as Socket
  }

  #limitAnswers(ms: number): void {
    this.#hasOwnLimit = ms !== this.#limits.statementMs
    this.#socket.setTimeout(ms === 0 ? 0 : ms + this.#limits.marginMs)
  }

  /** The ORM's commit and rollback fail on an ended connection. The ORM then never releases it, and the pool fills. */
  #reclaim(): void {
    try {
      this.release?.(true)
    } catch {
      // Its holder has released it.
    }
  }
}

/** A statement outside a span is not measured. */
function startSpan(statement: unknown): Span | undefined {
  const parent = currentSpan()
  const sql = parent && textOf(statement)
  if (!parent || sql === undefined) return undefined
  const operation = /^[a-z]+/i.exec(sql.trimStart())?.[0].toUpperCase() ?? 'SQL'
  return parent.startChild(operation, 'client', {
    'db.system.name': 'postgresql',
    'db.operation.name': operation,
    'db.query.text': withoutValues(sql).slice(0, maxTraceLength),
  })
}

function textOf(statement: unknown): string | undefined {
  if (typeof statement === 'string') return statement
  const isConfig = typeof statement === 'object' && statement !== null && 'text' in statement
  return isConfig && typeof statement.text === 'string' ? statement.text : undefined
}

/** SQLSTATE 08: connection faults. 57P01 to 57P03: shutdown, crash and start. */
const endedConnections = /^(08...|57P0[123])$/
const timeouts = /^(55P03|57014|25P0[34])$/
const codeOf = (fault: unknown): string => (fault instanceof DatabaseError && fault.code) || ''
const isUnavailable = (fault: unknown): boolean => endedConnections.test(codeOf(fault)) || timeouts.test(codeOf(fault))

function unavailable(cause: unknown): DatabaseUnavailable {
  const message = timeouts.test(codeOf(cause))
    ? 'PostgreSQL ended a statement in time'
    : 'the connection to PostgreSQL was refused or lost'
  return new DatabaseUnavailable(message, { cause })
}

/** The ORM would wrap connection faults in its own exceptions. */
export class GuardedDriver extends PostgreSqlDriver {
  override convertException(fault: Error): DriverException {
    return fault instanceof DatabaseUnavailable ? fault : super.convertException(fault)
  }
}

const setTimeouts = Object.entries(sessionTimeouts)
  .map(([name, ms]) => `set ${name} = ${ms}`)
  .join('; ')

type PoolOptions = Omit<PoolConfig, 'onConnect'> & {
  /** The pool waits for it, which its types do not say. */
  onConnect: (client: ClientBase) => Promise<unknown>
  onPoolCreated: (pool: Pool) => void
}

export const poolOptions: PoolOptions = {
  Client: PooledConnection,
  stream: () => new DatabaseSocket(),
  connectionTimeoutMillis: connectTimeoutMs,
  keepAlive: true,
  keepAliveInitialDelayMillis: keepAliveMs,
  // Not by the first message of a connection: poolers refuse one with parameters that they do not know.
  onConnect: (client) => client.query(setTimeouts),
  onPoolCreated: (pool) => {
    const connect = pool.connect.bind(pool)
    const guarded = () => connect().catch((cause: unknown) => Promise.reject(unavailable(cause)))
    pool.connect = guarded as Pool['connect']
  },
}

export function assertNoTransaction(em: EntityManager): void {
  if (em.isInTransaction())
    throw new Error('a read on a connection of its own would not see what the transaction has changed')
}

/** A failure of `work` closes the connection. Throws inside a transaction. */
export async function withConnection<T>(em: EntityManager, work: (client: PoolClient) => Promise<T>): Promise<T> {
  assertNoTransaction(em)
  const pool = await em.getConnection().getNativeClient()
  const client = await pool.connect()
  try {
    const result = await work(client)
    client.release()
    return result
  } catch (error) {
    client.release(true)
    throw error
  }
}

/** Names in quotes and `$1` are kept. Texts and numbers are values. */
const tokens =
  /("[^"]*"|\$\d+)|\b[eE]'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|\$([A-Za-z_]\w*|)\$[\s\S]*?\$\2\$|\b\d+(?:\.\d+)?\b/g

/** The text of a statement for a trace. The ORM writes values into the text, hashes and tokens among them. */
export function withoutValues(sql: string): string {
  return sql.replace(tokens, (_value, kept: string | undefined) => kept ?? '?')
}
