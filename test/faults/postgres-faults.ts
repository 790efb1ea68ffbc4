import { setTimeout as pause } from 'node:timers/promises'
import { eventually, type PostgresPair, type TcpProxy } from '@gatehouse/test-kit'
import pg from 'pg'
import { frozen, killed, restarted, type Fault } from './faults.ts'

const lastsMs = 5_000
const standbyLimitMs = 60_000

/** Those of a primary and its standby behind one address, over and over again. */
export function listPostgresFaults(pair: PostgresPair, address: TcpProxy): Fault[] {
  const primary = {
    kill: () => pair.current().kill(),
    start: () => pair.current().start(),
    stop: () => pair.current().stop(),
    pause: () => pair.current().pause(),
    resume: () => pair.current().resume(),
  }
  return [
    killed('PostgreSQL', primary),
    frozen('PostgreSQL', primary),
    restarted('PostgreSQL', primary),
    { name: 'a standby of PostgreSQL takes over', inject: () => failOver(pair, address) },
    { name: `PostgreSQL read-only for ${lastsMs} ms`, inject: () => turnReadOnly(pair) },
    { name: 'PostgreSQL ends all connections', inject: () => endAll(pair) },
    { name: `no connection to PostgreSQL left for ${lastsMs} ms`, inject: () => useUpConnections(pair) },
  ]
}

const endConnections = `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'gatehouse-%'`

/** A standby that lags behind would lose what was acknowledged, so it takes over as soon as it follows. */
async function failOver(pair: PostgresPair, address: TcpProxy): Promise<void> {
  const follows = () => eventually('the standby follows', async () => await isFollowed(pair), standbyLimitMs)
  await follows()
  await pair.failOver()
  address.leadTo(pair.current().url)
  await follows()
}

async function isFollowed(pair: PostgresPair): Promise<boolean> {
  const { rowCount } = await onServer(pair, `select from pg_stat_replication where state = 'streaming'`)
  return (rowCount ?? 0) > 0
}

/** Sessions that are open follow it with their next statement. */
async function turnReadOnly(pair: PostgresPair): Promise<void> {
  const set = async (isOn: boolean) => {
    await query(pair, `alter system set default_transaction_read_only = ${isOn}`)
    await query(pair, 'select pg_reload_conf()')
  }
  await set(true)
  await pause(lastsMs)
  await set(false)
}

/** The processes lose theirs and cannot open others: what PostgreSQL answers is that of `max_connections`. */
async function useUpConnections(pair: PostgresPair): Promise<void> {
  const limitTo = (count: number) => query(pair, `alter database gatehouse connection limit ${count}`)
  await limitTo(0)
  await endAll(pair)
  await pause(lastsMs)
  await limitTo(-1)
}

async function endAll(pair: PostgresPair): Promise<void> {
  const { rowCount } = await onServer(pair, endConnections)
  if (!rowCount) throw new Error('no process had a connection')
}

const query = async (pair: PostgresPair, sql: string) => void (await onServer(pair, sql))

async function onServer(pair: PostgresPair, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client(pair.current().url)
  await client.connect()
  try {
    return await client.query(sql)
  } finally {
    await client.end()
  }
}
