import { toErrorResponse } from '@gatehouse/runtime'
import type { MikroORM } from '@mikro-orm/postgresql'
import pg from 'pg'
import { changeRows, read } from '../src/rows.ts'

export type Connection = { pid: number; port: number; isStandby: boolean }

/** For a database of a pair of servers. */
export const createNotes = (url: string) => onServer(url, 'create table notes (text text)')
export const insert = `insert into notes values ('x')`

export const statusOf = (work: Promise<unknown>): Promise<number> =>
  work.then(
    () => 200,
    (error: unknown) => toErrorResponse(error).refusal.status,
  )
export const write = (orm: MikroORM) => statusOf(changeRows(orm.em.fork(), insert))

export async function connectionOf({ em }: Pick<MikroORM, 'em'>): Promise<Connection> {
  const sql = 'select pg_backend_pid() as pid, inet_server_port() as port, pg_is_in_recovery() as "isStandby"'
  return (await read<Connection>(em, sql))[0]!
}

export async function onServer(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query<object>(sql)).rows
  } finally {
    await client.end()
  }
}

/** Sessions that are open follow it with their next statement. */
export async function setReadOnly(url: string, isOn: boolean): Promise<void> {
  await onServer(url, `alter system set default_transaction_read_only = ${isOn}`)
  await onServer(url, 'select pg_reload_conf()')
}
