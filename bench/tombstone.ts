import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import bcrypt from 'bcrypt'
import pg from 'pg'
import { callerHeader, callerKeyLines, createSigningKeys, signCaller } from '@gatehouse/auth'
import { createMemoryCache } from '@gatehouse/authority'
import { createLocalBus } from '@gatehouse/bus'
import { systemClock, systemRandom } from '@gatehouse/runtime'
import { connectDatabase, migrateDatabase } from '@gatehouse/database'
import { startIdentity } from '@gatehouse/identity'
import { createLog, createMetrics, type Resources } from '@gatehouse/service-kit'
import { startEphemeralPostgres } from '@gatehouse/test-kit'
import { readConfig } from '../deploy/embedded/config.ts'
import { ratioLine, type Line } from './report.ts'
import { timeOf, type Run } from './rounds.ts'

const messages = 1_000_000
const leaving = { id: '1000', username: 'leaving', password: 'correct horse battery' }

/**
 * Deletes an account with a million messages through the service, beside the same deletions as bare SQL on a copy of the
 * same database. Design: budgets, invariant 4.
 */
export async function benchmark(run: Run): Promise<Line[]> {
  await using postgres = await startEphemeralPostgres({
    settings: { shared_buffers: '512MB', max_wal_size: '8GB', checkpoint_timeout: '30min', synchronous_commit: 'off' },
  })
  await seedTemplate(postgres.url)
  const times = { ours: [] as number[], bare: [] as number[] }
  // No round warms up: each has a copy of the database that nothing has read yet.
  for (let round = 0; round < run.rounds(3); round += 1) {
    times.ours.push(await onCopy(postgres.url, deleteThroughService))
    times.bare.push(await onCopy(postgres.url, deleteBare))
  }
  return [
    ratioLine({
      what: `tombstone of a user with ${messages.toLocaleString('en')} messages`,
      ours: times.ours,
      peer: { name: 'bare SQL', values: times.bare },
      format: (ms) => `${(ms / 1000).toFixed(1)} s`,
      bound: { atMost: 1.2 },
    }),
  ]
}

async function seedTemplate(serverUrl: string): Promise<void> {
  await execute(serverUrl, 'create database tombstone_template')
  const url = onDatabase(serverUrl, 'tombstone_template')
  const orm = await connectDatabase({ url })
  await migrateDatabase(orm)
  await orm.close()
  const hash = await bcrypt.hash(leaving.password, 12)
  await execute(
    url,
    `insert into users (id, username, password_hash) values (${leaving.id}, '${leaving.username}', '${hash}'),
    (1001, 'staying', 'none')`,
  )
  await execute(url, seed)
  await execute(url, 'vacuum (analyze)')
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

async function onCopy(serverUrl: string, work: (url: string) => Promise<number>): Promise<number> {
  copies += 1
  const name = `tombstone_${copies}`
  await execute(serverUrl, `create database ${name} template tombstone_template strategy file_copy`)
  const url = onDatabase(serverUrl, name)
  await execute(url, 'checkpoint')
  const took = await work(url)
  await execute(serverUrl, `drop database ${name} with (force)`)
  return took
}

/** The deletions that the specification asks for, in one transaction and nothing else. */
async function deleteBare(url: string): Promise<number> {
  const own = `(select id from messages where author_id = ${leaving.id})`
  return await timeOf(() =>
    execute(
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
  const settings = readConfig({ GATEHOUSE_DATA: folder })
  const callerKeys = { lines: callerKeyLines('gateway', [settings.internalSecret]) }
  const config = { ...settings, callerKeys, port: 0 }
  const identity = opening.use(await startIdentity(config, ports))
  return await timeOf(() => deleteSelf(identity.url, settings.internalSecret))
}

async function deleteSelf(url: string, internalSecret: string): Promise<void> {
  const { id: userId, username, password } = leaving
  const caller = {
    address: '127.0.0.1',
    account: { userId, username, isAdmin: false, tokenIssuedAt: Math.floor(systemClock.now() / 1000) },
  }
  const statement = signCaller(createSigningKeys('gateway', internalSecret), caller, {
    issuer: 'bench',
    audience: 'identity',
    now: systemClock.now(),
  })
  const answer = await fetch(`${url}/api/users/@me`, {
    method: 'DELETE',
    headers: { [callerHeader]: statement, 'content-type': 'application/json' },
    body: JSON.stringify({ username, password }),
  })
  if (!answer.ok) throw new Error(`the deletion answered ${answer.status}: ${await answer.text()}`)
}

async function execute(url: string, sql: string): Promise<void> {
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
