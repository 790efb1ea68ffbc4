import { AsyncLocalStorage } from 'node:async_hooks'
import { channel } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { Unavailable, currentSpan, type Span } from '@gatehouse/runtime'
import { PostgreSqlDriver, type DriverException, type EntityManager } from '@mikro-orm/postgresql'
import { Client, DatabaseError } from 'pg'
import type { ClientBase, ClientConfig, Pool, PoolClient, PoolConfig } from 'pg'
import { answerMarginMs, connectTimeoutMs, keepAliveMs, readOnlyUseMs, sessionTimeouts } from './policy.ts'
import { DatabaseSocket } from './remembered-addresses.ts'
import { leaveReadOnlyServers, type LimitedUse } from './read-only-servers.ts'
import { explainServerFault, serverFaultOf, type ServerFault } from './server-faults.ts'
import { withoutValues } from './without-values.ts'

/** At the start, `message` is one line with the variable and the remedy. */
export class DatabaseUnavailable extends Unavailable {
  override readonly name = 'DatabaseUnavailable'
  /** Undefined where this process gave up. */
  readonly fault: ServerFault | undefined

  constructor(message: string, { fault, ...options }: ErrorOptions & { fault?: ServerFault } = {}) {
    super(message, options)
    this.fault = fault
  }
}

/** PostgreSQL ends a statement after `statementMs`. Its answer comes at most `marginMs` later. */
export type AnswerLimits = { statementMs: number; marginMs: number }

const defaultLimits: AnswerLimits = { statementMs: sessionTimeouts.statement_timeout, marginMs: answerMarginMs }

/** The holder of an ended connection should release it first. */
const releaseGraceMs = 1_000
const maxTraceLength = 2_000

/** The test runner listens, and holds design's invariant 13 for every statement. */
const statements = channel('gatehouse:statement')

/** Where the new connections of a pool lead. */
export type Servers = {
  current(): Pick<ClientConfig, 'host' | 'port' | 'ssl'>
  /** New connections lead to another server, if there is one. */
  leave(server: ReturnType<Servers['current']>): void
  leaveReadOnly(server: ReturnType<Servers['current']>): void
  /** Gives `connect` of a pool, which tries another server where the current one is away. */
  follow<T>(connect: () => Promise<T>): () => Promise<T>
}

/** It would not help to ask another server, but while this one starts or stops. */
export function isAnswerOfServer(error: unknown): boolean {
  return error instanceof DatabaseError && error.code !== '57P03'
}

/** PostgreSQL 14 and later report them at the start of a connection and with the answer after each change. */
const readOnlyParameters: ReadonlySet<string> = new Set(['in_hot_standby', 'default_transaction_read_only'])

const ownStatementMs = new AsyncLocalStorage<number>()

/** `work` sends one message, which sets `statement_timeout` for its transaction. 0 is no limit. */
export async function withStatementLimit<T>(statementMs: number, work: () => Promise<T>): Promise<T> {
  return await ownStatementMs.run(statementMs, work)
}

/**
 * A connection of the pool: it traces statements inside a span, names faults, notes that its server is read-only and gives
 * up a silent one. A dead host sends no reset, and TCP needs 15 minutes to give up. NOTE: pg's `query_timeout` would put
 * the connection back into the pool. docs/decisions/bounded-waits.md.
 */
class PooledConnection extends Client implements LimitedUse {
  /** The pool sets it. Throws when called again. */
  declare release?: PoolClient['release']
  onReadOnly = (): void => undefined
  readonly madeAt = performance.now()
  usableUntil = Infinity
  isNew = true
  readonly #limits: AnswerLimits
  readonly #leave: (fault: 'lost' | 'readOnly') => void
  #isLost = false
  #isWaiting = false
  #hasOwnLimit = false

  constructor(config: ClientConfig & { answerLimits?: AnswerLimits; servers?: Servers } = {}) {
    const { servers, password } = config
    const server = servers?.current()
    // The pool hides the password from a copy.
    super(server ? { ...config, password, ...server } : config)
    this.#leave = (fault) => {
      if (server && fault === 'readOnly') servers?.leaveReadOnly(server)
      if (server && fault === 'lost') servers?.leave(server)
    }
    this.#limits = config.answerLimits ?? defaultLimits
    this.connection.on('parameterStatus', ({ parameterName, parameterValue }: ParameterStatus) => {
      if (readOnlyParameters.has(parameterName) && parameterValue === 'on') this.#noteReadOnly(readOnlyUseMs)
    })
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

  override connect(...args: unknown[]): never {
    const [answer] = args as [((error: Error | null) => void)?]
    if (!answer) return super.connect() as never
    const note = (error: Error | null) => {
      if (error && !isAnswerOfServer(error)) this.#leave('lost')
      answer(error)
    }
    return super.connect(note) as never
  }

  override query(...args: unknown[]): never {
    this.#isWaiting = true
    const ownMs = ownStatementMs.getStore()
    if (ownMs !== undefined) this.#limitAnswers(ownMs)
    if (statements.hasSubscribers) {
      const text = textOf(args[0]) ?? ''
      statements.publish({ user: this.user ?? '', text, form: withoutValues(text) })
    }
    const span = startSpan(args[0])
    const result: unknown = super.query(...(args as [string]))
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
      const serverFault = serverFaultOf(fault) ?? (this.#isLost ? 'lost' : undefined)
      if (serverFault === 'readOnly') this.#noteReadOnly(0)
      // The server tells why it ends a connection before it does: the pool would give it to the next statement.
      if (serverFault === 'lost') this.usableUntil = 0
      const error = serverFault === undefined ? fault : unavailable(fault, serverFault)
      span?.end(error)
      throw error
    }
  }

  #noteReadOnly(useMs: number): void {
    this.usableUntil = Math.min(this.usableUntil, this.madeAt + useMs)
    this.#leave('readOnly')
    this.onReadOnly()
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

const unavailable = (cause: unknown, fault: ServerFault): DatabaseUnavailable =>
  new DatabaseUnavailable(explainServerFault(fault, cause), { cause, fault })

/** The ORM would wrap connection faults in its own exceptions. */
export class GuardedDriver extends PostgreSqlDriver {
  override convertException(fault: Error): DriverException {
    return fault instanceof DatabaseUnavailable ? fault : super.convertException(fault)
  }
}

const setTimeouts = Object.entries(sessionTimeouts)
  .map(([name, ms]) => `set ${name} = ${ms}`)
  .join('; ')

type ParameterStatus = { parameterName: string; parameterValue: string }

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
    const { servers } = pool.options as { servers?: Servers }
    if (servers) pool.connect = servers.follow(pool.connect.bind(pool) as () => Promise<PoolClient>) as Pool['connect']
    const connect = leaveReadOnlyServers(pool)
    const guarded = () =>
      connect().catch((cause: unknown) => Promise.reject(unavailable(cause, serverFaultOf(cause) ?? 'lost')))
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
