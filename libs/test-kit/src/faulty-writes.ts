import { AssertionError } from 'node:assert'
import { isDeepStrictEqual } from 'node:util'
import type { MikroORM } from '@mikro-orm/postgresql'
import { Client, DatabaseError } from 'pg'
import { eventually } from './eventually.ts'

/** By SQLSTATE: the connection of the statement ends, or its disk is full. */
export const writeFaults = ['57P01', '53100'] as const
export type WriteFault = (typeof writeFaults)[number]

export type FaultyWrites = {
  /** `hasFailed`: statement number `count` of those that change rows, counted from 1, failed while `work` ran. */
  failDuring<T>(
    work: () => Promise<T>,
    at: { count: number; fault: WriteFault },
  ): Promise<{ value: T; hasFailed: boolean }>
  /** What all tables hold: equal where nothing has changed. */
  read(): Promise<Record<string, string>>
  /** Until the outbox is empty: it deletes what it has published, which counts as a statement, and changes what `read` gives. */
  untilPublished(): Promise<unknown>
}

/** Every table gets a trigger that meets a fault before a chosen statement of any connection. `orm` is a superuser's. */
export async function openFaultyWrites({ em }: Pick<MikroORM, 'em'>): Promise<FaultyWrites> {
  const execute = <Row = object>(sql: string, parameters: unknown[] = []) => em.fork().execute<Row[]>(sql, parameters)
  const rows = await execute<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'mikro_orm_migrations'`,
  )
  const tables = rows.map(({ name }) => name)
  const triggers = tables.map(
    (table) =>
      `create trigger meet_fault before insert or update or delete on ${table} for each statement execute function meet_fault();`,
  )
  // A sequence counts on where a transaction is rolled back.
  await execute(`create sequence statements_until_fault minvalue -1000 start 1;
    create table write_fault (state text);
    insert into write_fault values ('');
    create function meet_fault() returns trigger language plpgsql security definer as $$
    begin
      if nextval('statements_until_fault') <> 0 then return null; end if;
      if (select state from write_fault) <> '57P01' then raise exception using errcode = (select state from write_fault); end if;
      perform pg_terminate_backend(pg_backend_pid());
      return null;
    end $$;
    ${triggers.join('\n')}`)
  const digests = tables.map(
    (table) => `(select md5(coalesce(string_agg(t::text, '|' order by t::text), '')) from ${table} t) as ${table}`,
  )
  return {
    async failDuring(work, { count, fault }) {
      await execute('update write_fault set state = ?', [fault])
      await execute(`select setval('statements_until_fault', ?)`, [-count])
      const value = await work()
      const [reached] = await execute<{ hasFailed: boolean }>(
        `select last_value >= 0 as "hasFailed" from statements_until_fault`,
      )
      await execute(`select setval('statements_until_fault', 1)`)
      return { value, hasFailed: reached?.hasFailed === true }
    },
    untilPublished: () =>
      eventually('events are published', async () => (await execute('select from outbox')).length === 0),
    async read() {
      const [row] = await execute<Record<string, string>>(`select ${digests.join(', ')}`)
      return row ?? {}
    },
  }
}

/**
 * Repeats `attempt`, which gives a status, with a fault at each statement in turn, until it is not 503. Gives the statuses.
 * Throws where an attempt changed what `read` gives although it was 503, or was 503 without the fault.
 */
export async function interruptEach(
  writes: FaultyWrites,
  { attempt, read }: { attempt: () => Promise<number>; read: () => Promise<unknown> },
): Promise<number[]> {
  await writes.untilPublished()
  const before = await read()
  const statuses: number[] = []
  for (const fault of ['53100', ...Array<WriteFault>(500).fill('57P01')] as WriteFault[]) {
    const count = Math.max(1, statuses.length)
    const { value: status, hasFailed } = await writes.failDuring(attempt, { count, fault })
    statuses.push(status)
    if (status !== 503) return statuses
    if (!hasFailed) throw new Error('it was 503 without the fault')
    const after = await read()
    if (isDeepStrictEqual(after, before)) continue
    throw new AssertionError({ message: `${fault} at statement ${count} left a half`, actual: after, expected: before })
  }
  throw new Error('it has no end')
}

/**
 * PostgreSQL ends each connection from the moment a transaction of this process with an entry of the audit log has committed
 * until `work` ends. What was done must not be answered as if it had failed.
 */
export async function failAfterCommit<T>(work: () => Promise<T>): Promise<T> {
  const { query } = Client.prototype
  const audited = new WeakSet<Client>()
  let hasCommitted = false
  const changed = function (this: Client, ...args: [string]): unknown {
    if (hasCommitted) {
      void this.end()
      return Promise.reject(Object.assign(new DatabaseError('it ends', 0, 'error'), { code: '57P01' }))
    }
    const text = textOf(args[0])
    if (text.includes('insert into "audit_log"')) audited.add(this)
    const result: unknown = query.apply(this, args as never)
    if (!audited.has(this) || text.trim().toLowerCase() !== 'commit') return result
    return (result as Promise<unknown>).finally(() => (hasCommitted = true))
  }
  Client.prototype.query = changed as typeof query
  try {
    return await work()
  } finally {
    Client.prototype.query = query
  }
}

const textOf = (statement: string | { text: string }): string =>
  typeof statement === 'string' ? statement : statement.text
