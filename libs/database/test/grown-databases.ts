import { startEphemeralPostgres } from '@gatehouse/local-servers'
import { growDatabase } from '@gatehouse/test-kit'
import pg from 'pg'
import { prepareDatabase } from '../src/index.ts'

const rows = { few: 6_000, many: 60_000 }

/** Both are analyzed once, when they are full. */
const settings = { full_page_writes: 'off', autovacuum: 'off' }

export type GrownDatabases = { few: string; many: string }

/** A PostgreSQL with two instances, one ten times as large as the other. Filling them takes most of a minute. */
export async function startGrownDatabases(): Promise<AsyncDisposable & GrownDatabases> {
  await using opening = new AsyncDisposableStack()
  const server = opening.use(await startEphemeralPostgres({ settings }))
  const few = await addDatabase(server.url, 'few')
  const many = await addDatabase(server.url, 'many')
  const open = opening.move()
  return { few, many, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

async function addDatabase(serverUrl: string, name: keyof typeof rows): Promise<string> {
  const url = new URL(`/${name}${new URL(serverUrl).search}`, serverUrl).href
  await withClient(serverUrl, (client) => client.query(`create database ${name}`))
  await prepareDatabase(url)
  await withClient(url, (client) => growDatabase(client, () => rows[name]))
  return url
}

async function withClient(url: string, act: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    await act(client)
  } finally {
    await client.end()
  }
}
