import { randomUUID } from 'node:crypto'
import { signBody } from '@gatehouse/federation-fanout/signature'
import pg from 'pg'
import { growDatabase } from '@gatehouse/test-kit'
import { rowsAt } from './rows.ts'
import { databaseUrlOf, registerAccount, startEmbeddedInstance, type BenchAccount } from '../embedded-instance.ts'

const peer = { origin: 'https://bench.example', host: 'bench.example', secret: 'b'.repeat(64) }

export type Place = AsyncDisposable & {
  url: string
  pid: number
  databaseBytes: number
  accounts: number
  folder: string
  /** Each takes milliseconds. */
  operations: Record<string, () => Promise<number>>
}

/** An embedded instance with so many accounts, and what people, admins and a peer do there. */
export async function openPlace(folder: string, accounts: number): Promise<Place> {
  await using opening = new AsyncDisposableStack()
  const instance = opening.use(await startEmbeddedInstance(folder, { TRUST_PROXY: 'loopback' }))
  const admin = await registerAccount(instance.url, 'bench_admin')
  const databaseBytes = await seed(folder, accounts)
  const open = opening.move()
  const { url, pid } = instance
  const operations = operationsOn(url, admin, accounts)
  return { url, pid, databaseBytes, accounts, folder, operations, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

async function seed(folder: string, accounts: number): Promise<number> {
  const client = new pg.Client(await databaseUrlOf(folder))
  await client.connect()
  try {
    await growDatabase(client, rowsAt(accounts))
    await client.query(
      `insert into peers (id, origin, host, secret, status, activated_at, admin_decided, attempts, failed_deliveries,
         refused_deliveries, auto_rotate_interval_days, profile_checkpoint)
       values (next_snowflake(), $1, $2, $3, 'active', now(), true, 0, 0, 0, 90, 0)`,
      [peer.origin, peer.host, peer.secret],
    )
    await client.query(`update users set status = 'offline' where status = 'online'`)
    // Every tenth has an account at the peer. A trigger of the schema keeps the list of whom it asks about.
    const instances = JSON.stringify([{ origin: peer.origin, username: 'somebody' }])
    await client.query('update users set replicated_instances = $1 where id % 10 = 1 and home_instance is null', [
      instances,
    ])
    await client.query('vacuum analyze')
    const { rows } = await client.query<{ size: string }>('select pg_database_size(current_database()) as size')
    return Number(rows[0]?.size)
  } finally {
    await client.end()
  }
}

function operationsOn(url: string, admin: BenchAccount, accounts: number): Place['operations'] {
  let calls = 0
  const asAdmin = { authorization: `Bearer ${admin.token}` }
  const send = async (path: string, options: { method?: string; body?: unknown; headers?: object } = {}) => {
    calls += 1
    const body = options.body === undefined ? {} : { body: JSON.stringify(options.body) }
    const headers = {
      'content-type': 'application/json',
      'x-forwarded-for': `10.${calls >> 16}.${(calls >> 8) & 255}.${calls & 255}`,
      ...options.headers,
    }
    const startedAt = performance.now()
    const answer = await fetch(url + path, { method: options.method ?? 'GET', headers, ...body })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${text}`)
    return { ms: performance.now() - startedAt, body: JSON.parse(text) as { token: string; nextCursor?: string } }
  }
  const get = (path: string) => async () => (await send(path, { headers: asAdmin })).ms
  const newcomer = () => ({ username: `newcomer_${calls}`, password: 'correct horse battery' })
  const { username, password } = admin
  const middle = Math.floor(accounts / 2)
  const sync = JSON.stringify({ sinceTimestamp: 1_750_000_000_000 + middle, limit: 100, contextType: 'profile' })
  return {
    'GET @me': get('/api/users/@me'),
    login: async () => (await send('/api/auth/login', { method: 'POST', body: { username, password } })).ms,
    register: async () => (await send('/api/auth/register', { method: 'POST', body: newcomer() })).ms,
    'check-username': get(`/api/auth/check-username?username=nobody_here`),
    "deletion of one's account": async () => {
      const leaving = newcomer()
      const { body } = await send('/api/auth/register', { method: 'POST', body: leaving })
      const headers = { authorization: `Bearer ${body.token}` }
      return (await send('/api/users/@me', { method: 'DELETE', headers, body: leaving })).ms
    },
    "an admin's list": get('/api/admin/users?pageSize=50'),
    "an admin's page of another home": get('/api/admin/users?pageSize=50&homeInstance=h8.example'),
    ...Object.fromEntries(
      Object.entries(searches(middle)).map(([kind, q]) => [
        `an admin's search: ${kind}`,
        get(`/api/admin/users?pageSize=50&q=${encodeURIComponent(q)}`),
      ]),
    ),
    'the audit log of one user': get(`/api/admin/audit?limit=50&subject=${middle}`),
    'the list of invites': get('/api/admin/invites?limit=50'),
    "a peer's sync page": async () => {
      const { secret, origin } = peer
      const headers = signBody({ secret, origin, body: sync, timestamp: Date.now(), nonce: randomUUID() })
      const path = '/api/federation/sync'
      return (await send(path, { method: 'POST', headers, body: JSON.parse(sync) as object })).ms
    },
  }
}

/** Of names like `user7`, `user8@h8.example`, and for each twentieth account a display name. */
export const searches = (number: number): Readonly<Record<string, string>> => ({
  'one character that begins all names': 'u',
  'one character that begins none': 'x',
  'two characters that begin a word of each twentieth': 'h8',
  'what begins one name': `user${number}`,
  'what begins all names': 'user',
  'a part of one name': `ser${number}`,
  'a part of each second name': '.example',
  'a part of all names': 'ser',
  'a part of no name': 'nobody',
  wildcards: '%_\\',
  'a display name': `name ${number - (number % 20)}`,
  'capital letters': `USER${number}`,
  'letters of no name': 'Straße Ωmega',
})
