import { randomBytes } from 'node:crypto'
import { createMemoryStore, callerHeader, createCallerKey, signCaller, type Caller } from '@gatehouse/auth'
import { createLocalBus } from '@gatehouse/bus'
import { movableClock, systemRandom, type Random } from '@gatehouse/runtime'
import type { InviteReply } from '@gatehouse/contracts'
import { User, nextId, redeemInvite } from '@gatehouse/domain'
import { connectDatabase, migrateDatabase } from '@gatehouse/database'
import { createMetrics } from '@gatehouse/service-kit'
import { capturedLog, testDatabase } from '@gatehouse/test-kit'
import type { EntityManager } from '@mikro-orm/postgresql'
import { startInvite } from '../src/service.ts'

export const internalSecret = 'a secret of the tests, long enough to be one'
export const origin = 'https://chat.example'

export type Answer<Body = Record<string, unknown>> = { status: number; body: Body }
export type InviteHarness = Awaited<ReturnType<typeof startInviteHarness>>

/** The invite service on a database of its own, with a clock that the test moves and an admin who calls it. */
export async function startInviteHarness() {
  await using opening = new AsyncDisposableStack()
  const database = opening.use(await testDatabase({ template: { key: 'migrated', build: migrate } }))
  const orm = opening.adopt(await connectDatabase({ url: database.url, connections: 20 }), (open) => open.close())
  const { log, lines } = capturedLog()
  const clock = movableClock(Date.UTC(2026, 0, 1))
  const tokens: string[] = []
  const random: Random = { ...systemRandom, bytes: (count) => nextBytes(tokens, count) }
  const ports = { orm, log, clock, random, metrics: createMetrics() }
  const bus = opening.use(createLocalBus({ log }))
  const store = opening.use(createMemoryStore(clock))
  const publicAddress = { origin, domain: 'chat.example' }
  const config = { host: '127.0.0.1', port: 0, internalSecret, publicAddress }
  const service = opening.use(await startInvite(config, { ...ports, bus, store }))
  const deps = { ...ports, bus, store, config }
  const admin = await insertUser(orm.em.fork(), { username: 'founder', isAdmin: true })
  const asAdmin = { userId: admin.id, username: admin.username, isAdmin: true }
  const open = opening.move()

  async function call<Body = Record<string, unknown>>(
    method: string,
    path: string,
    { body, account = asAdmin, headers = {} }: CallOptions = {},
  ): Promise<Answer<Body>> {
    const statement = signCaller(createCallerKey(internalSecret), { address: '127.0.0.1', account }, clock.now())
    const response = await fetch(service.url + path, {
      method,
      headers: {
        [callerHeader]: statement,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as Body }
  }

  return {
    orm,
    clock,
    deps,
    lines,
    url: service.url,
    admin: asAdmin,
    /** What the next tokens are made of, first come first served; afterwards chance decides. */
    tokens,
    call,
    /** Creates an invite over HTTP. */
    async buildInvite(
      overrides: Partial<Pick<InviteReply, 'name' | 'maxUses' | 'expiresAt'>> = {},
    ): Promise<InviteReply> {
      const body = { name: 'friends', maxUses: null, expiresAt: null, ...overrides }
      return (await call<InviteReply>('POST', '/api/admin/invites', { body })).body
    },
    /** Registers an account by an invite, as identity does it. */
    async redeem(token: string, options: { username?: string; whileInserting?: () => Promise<unknown> } = {}) {
      return await orm.em.fork().transactional(async (em) => {
        const insert = async () => {
          const user = await insertUser(em, options)
          await options.whileInserting?.()
          return user
        }
        return await redeemInvite(em, { token, now: clock.now(), insertUser: insert })
      })
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

type CallOptions = { body?: unknown; account?: Caller['account']; headers?: Record<string, string> }

async function migrate(url: string): Promise<void> {
  const orm = await connectDatabase({ url })
  await migrateDatabase(orm)
  await orm.close()
}

function nextBytes(tokens: string[], count: number): Buffer {
  const next = tokens.shift()
  return next === undefined ? systemRandom.bytes(count) : Buffer.from(next, 'base64url')
}

/** A user whose password nobody knows. */
export async function insertUser(
  em: EntityManager,
  given: { username?: string; isAdmin?: boolean } = {},
): Promise<User> {
  const user = em.create(User, {
    id: await nextId(em),
    username: given.username ?? `user_${randomBytes(6).toString('hex')}`,
    passwordHash: '!unverifiable',
    isAdmin: given.isAdmin ?? false,
    createdAt: new Date(),
  })
  await em.persist(user).flush()
  return user
}

/** How many sessions of this database wait for a lock right now. */
export async function countLockWaits({ orm }: Pick<InviteHarness, 'orm'>): Promise<number> {
  const [row] = (await orm.em
    .fork()
    .execute(
      `select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )) as { waiting: number }[]
  return row!.waiting
}
