import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import bcrypt from 'bcrypt'
import pg from 'pg'
import { createMemoryCache, callerHeader, createCallerKey, signCallerToken } from '@gatehouse/auth'
import { createLocalBus } from '@gatehouse/bus'
import { systemClock, systemRandom } from '@gatehouse/runtime'
import { connectDatabase, migrateDatabase } from '@gatehouse/database'
import { startIdentity } from '@gatehouse/identity'
import { createLog, createMetrics, type Resources } from '@gatehouse/service-kit'
import { startEphemeralPostgres } from '@gatehouse/test-kit'
import { readConfig } from '../deploy/embedded/config.ts'
import type { Line } from './report.ts'

const messages = 1_000_000
const leaving = { id: '1000', username: 'leaving', password: 'correct horse battery' }
const limit = 1.2

/**
 * Deletes an account with a million messages through the service, beside the same deletions as bare SQL on a copy of the
 * same database. Design: budgets, invariant 4.
 */
export async function benchmark(): Promise<Line[]> {
  await using postgres = await startEphemeralPostgres({
    settings: { shared_buffers: '512MB', max_wal_size: '8GB', checkpoint_timeout: '30min', synchronous_commit: 'off' },
  })
  await seedTemplate(postgres.url)
  const ours = await deleteThroughService(await copyTemplate(postgres.url))
  const bare = await deleteBare(await copyTemplate(postgres.url))
  const ratio = ours / bare
  return [
    {
      what: `tombstone of a user with ${messages.toLocaleString('en')} messages`,
      measured: seconds(ours),
      peer: `bare SQL ${seconds(bare)}`,
      ratio,
      limit: `≤ ${limit}`,
      within: ratio <= limit,
    },
  ]
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

async function seedTemplate(serverUrl: string): Promise<void> {
  await run(serverUrl, 'create database tombstone_template')
  const url = onDatabase(serverUrl, 'tombstone_template')
  const orm = await connectDatabase({ url })
  await migrateDatabase(orm)
  await orm.close()
  const hash = await bcrypt.hash(leaving.password, 12)
  await run(
    url,
    `insert into users (id, username, password_hash) values (${leaving.id}, '${leaving.username}', '${hash}'),
    (1001, 'staying', 'none')`,
  )
  await run(url, seed)
  await run(url, 'vacuum (analyze)')
}

/** Every tenth message is another user's; attachments, embeds and reactions as a chat has them. */
const seed = `
  insert into spaces (id, name, owner_id) values (1, 'a space', 1001);
  insert into channels (id, space_id, name) values (1, 1, 'general');
  insert into space_members (space_id, user_id) values (1, ${leaving.id}), (1, 1001);
  insert into messages (id, channel_id, author_id, content)
    select n, 1, ${leaving.id}, 'a message of the usual length, number ' || n from generate_series(1, ${messages}) n;
  insert into messages (id, channel_id, author_id, content)
    select n, 1, 1001, 'an answer' from generate_series(${messages} + 1, ${messages} * 11 / 10) n;
  insert into message_attachments (id, message_id, filename)
    select n, n * 20, n || '.png' from generate_series(1, ${messages} / 20) n;
  insert into message_embeds (id, message_id, url)
    select n, n * 20, 'https://example.com/' from generate_series(1, ${messages} / 20) n;
  insert into message_reactions (message_id, user_id, emoji)
    select n * 10, 1001, 'yes' from generate_series(1, ${messages} / 10) n;
  insert into message_reactions (message_id, user_id, emoji)
    select ${messages} + n, ${leaving.id}, 'yes' from generate_series(1, ${messages} / 10) n;`

let copies = 0

async function copyTemplate(serverUrl: string): Promise<string> {
  copies += 1
  await run(serverUrl, `create database tombstone_${copies} template tombstone_template strategy file_copy`)
  const url = onDatabase(serverUrl, `tombstone_${copies}`)
  await run(url, 'checkpoint')
  return url
}

/** The deletions that the specification asks for, in one transaction and nothing else. */
async function deleteBare(url: string): Promise<number> {
  const own = `(select id from messages where author_id = ${leaving.id})`
  return await timeOf(() =>
    run(
      url,
      `begin;
       delete from message_reactions where user_id = ${leaving.id};
       delete from message_reactions where message_id in ${own};
       delete from message_attachments where message_id in ${own};
       delete from message_embeds where message_id in ${own};
       delete from messages where author_id = ${leaving.id};
       delete from space_members where user_id = ${leaving.id};
       update users set username = '!deleted:' || id, is_deleted = true where id = ${leaving.id};
       commit`,
    ),
  )
}

/** Through HTTP, the password check, the transaction, the outbox, the cache and the removal of files. */
async function deleteThroughService(url: string): Promise<number> {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const log = createLog({ level: 'error', service: 'bench' })
  const ports: Resources = {
    orm: opening.adopt(await connectDatabase({ url }), (orm) => orm.close()),
    bus: opening.use(createLocalBus({ log })),
    accountStateCache: opening.use(createMemoryCache(systemClock)),
    clock: systemClock,
    random: systemRandom,
    log,
    metrics: createMetrics(),
  }
  const config = { ...readConfig({ GATEHOUSE_DATA: folder }), port: 0 }
  const identity = opening.use(await startIdentity(config, ports))
  return await timeOf(() => deleteSelf(identity.url, config.internalSecret))
}

async function deleteSelf(url: string, internalSecret: string): Promise<void> {
  const { id: userId, username, password } = leaving
  const caller = {
    address: '127.0.0.1',
    account: { userId, username, isAdmin: false, tokenIssuedAt: Math.floor(systemClock.now() / 1000) },
  }
  const statement = signCallerToken(createCallerKey(internalSecret), caller, systemClock.now())
  const answer = await fetch(`${url}/api/users/@me`, {
    method: 'DELETE',
    headers: { [callerHeader]: statement, 'content-type': 'application/json' },
    body: JSON.stringify({ username, password }),
  })
  if (!answer.ok) throw new Error(`the deletion answered ${answer.status}: ${await answer.text()}`)
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}

async function run(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

function onDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return url.href
}
