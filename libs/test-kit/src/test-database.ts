import { createHash, randomBytes } from 'node:crypto'
import pg from 'pg'
import { randomName } from './random-name.ts'
import { runPostgres } from './run-servers.ts'

/** How to fill a database once for each run; `key` names its content (for example a hash of the migrations). */
export type DatabaseTemplate = { key: string; build: (url: string) => Promise<void> }

const runId = process.env.GATEHOUSE_TEST_RUN ?? randomBytes(4).toString('hex')

/**
 * A new database on the PostgreSQL of the run, dropped on dispose: empty, or a copy of the template, which the first
 * caller of the run builds and the others wait for.
 */
export async function testDatabase(
  options: { template?: DatabaseTemplate } = {},
): Promise<AsyncDisposable & { url: string }> {
  const serverUrl = await runPostgres()
  const name = randomName()
  await onServer(serverUrl, async (client) => {
    const source = options.template ? await ensureTemplate(serverUrl, client, options.template) : 'template0'
    await client.query(`create database ${name} template ${source} strategy file_copy`)
  })
  return {
    url: databaseUrl(serverUrl, name),
    async [Symbol.asyncDispose]() {
      await onServer(serverUrl, (client) => client.query(`drop database if exists ${name} with (force)`))
    },
  }
}

async function ensureTemplate(serverUrl: string, client: pg.ClientBase, template: DatabaseTemplate): Promise<string> {
  const name = `tmpl_${runId}_${createHash('sha256').update(template.key).digest('hex').slice(0, 16)}`
  return await locked(client, name, async () => {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name])
    if (!rowCount) await buildTemplate(serverUrl, client, { name, build: template.build })
    return name
  })
}

/** Of the processes of the run one at a time does what has this name. */
export async function oneOfRun<T>(name: string, act: () => Promise<T>): Promise<T> {
  return await onServer(await runPostgres(), (client) => locked(client, name, act))
}

async function locked<T>(client: pg.ClientBase, name: string, act: () => Promise<T>): Promise<T> {
  await client.query('select pg_advisory_lock(hashtext($1))', [name])
  try {
    return await act()
  } finally {
    await client.query('select pg_advisory_unlock(hashtext($1))', [name])
  }
}

async function buildTemplate(
  serverUrl: string,
  client: pg.ClientBase,
  { name, build }: { name: string; build: DatabaseTemplate['build'] },
): Promise<void> {
  const unfinished = `${name}_unfinished`
  await client.query(`drop database if exists ${unfinished} with (force)`)
  await client.query(`create database ${unfinished} template template0`)
  await build(databaseUrl(serverUrl, unfinished))
  // A database with open connections can be neither renamed nor copied.
  await client.query(`alter database ${unfinished} allow_connections false`)
  await client.query('select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1', [unfinished])
  await client.query(`alter database ${unfinished} rename to ${name}`)
}

function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return url.href
}

/** One for each server, since a connection costs PostgreSQL as much as a copy of the database. */
const pools = new Map<string, pg.Pool>()

function openPool(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, allowExitOnIdle: true })
  // The server may end before the process.
  pool.on('error', () => undefined)
  pools.set(url, pool)
  return pool
}

async function onServer<T>(url: string, act: (client: pg.ClientBase) => Promise<T>): Promise<T> {
  const client = await (pools.get(url) ?? openPool(url)).connect()
  try {
    return await act(client)
  } finally {
    client.release()
  }
}

/** Removes the templates of a run from a server that outlives it. */
export async function dropTemplates(serverUrl: string, ofRun: string): Promise<void> {
  await onServer(serverUrl, async (client) => {
    const { rows } = await client.query<{ datname: string }>(
      'select datname from pg_database where starts_with(datname, $1)',
      [`tmpl_${ofRun}_`],
    )
    for (const { datname } of rows) await client.query(`drop database if exists ${datname} with (force)`)
  })
}
