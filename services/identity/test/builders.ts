import type { ActingCaller } from '@gatehouse/authority'
import type { EventDefinition } from '@gatehouse/contracts'
import { nextId } from '@gatehouse/database'
import { InstanceSettings, Invite, User, accountStateOf, stubPasswordHash, type PeerStatus } from '@gatehouse/domain'
import { randomToken } from '@gatehouse/runtime'
import { eventually, insertUser, type UserOverrides } from '@gatehouse/test-kit'
import type { RequiredEntityData } from '@mikro-orm/postgresql'
import { testPasswordHash } from './quick-hasher.ts'
import type { TestIdentity } from './harness.ts'

type Where = Pick<TestIdentity, 'deps'>

let built = 0

/** A local account with `testPassword`, unless told otherwise; put straight into the database. */
export async function buildUser({ deps }: Where, overrides: UserOverrides = {}): Promise<User> {
  built += 1
  const createdAt = new Date(deps.clock.now())
  return await insertUser(deps, { username: `user_${built}`, passwordHash: testPasswordHash, createdAt, ...overrides })
}

/** The account as it stands in the database now. */
export async function readUser({ deps }: Where, id: string): Promise<User> {
  return await deps.orm.em.fork().findOneOrFail(User, { id })
}

/** A stub of an identity at `home.example`, as the federation relay inserts it. */
export async function buildStub(identity: Where, overrides: UserOverrides = {}): Promise<User> {
  built += 1
  return await buildUser(identity, {
    username: `stub_${built}@home.example`,
    passwordHash: stubPasswordHash,
    homeInstance: 'home.example',
    ...overrides,
  })
}

/** A peer as federation-fanout stores it, whose secret nobody here knows. */
export async function buildPeer({ deps }: Where, origin: string, status: PeerStatus = 'active'): Promise<void> {
  const sql = `insert into peers (id, origin, host, secret, status) values (next_snowflake(), ?, ?, '', ?)
    on conflict (origin) do update set status = excluded.status`
  await deps.orm.em.fork().execute(sql, [origin, new URL(origin).hostname, status])
}

/** A peer that looked the account up, as federation-fanout remembers it. */
export async function rememberAsker({ deps }: Where, origin: string, userId: string): Promise<void> {
  const sql = 'insert into profile_askers (user_id, origin) values (?, ?)'
  await deps.orm.em.fork().execute(sql, [userId, origin])
}

/** An active invite of one use, unless told otherwise. */
export async function buildInvite(
  { deps }: Where,
  overrides: Partial<Pick<Invite, 'maxUses' | 'usedCount' | 'expiresAt' | 'revokedAt' | 'createdBy' | 'byMember'>> = {},
): Promise<Invite> {
  const em = deps.orm.em.fork()
  const invite = em.create(Invite, {
    id: await nextId(em),
    token: randomToken(deps.random, 16),
    name: 'for a friend',
    maxUses: 1,
    createdAt: new Date(deps.clock.now()),
    ...overrides,
  } as RequiredEntityData<Invite>)
  await em.persist(invite).flush()
  return invite
}

/** The invite as it stands in the database now. */
export async function readInvite({ deps }: Where, id: string): Promise<Invite> {
  return await deps.orm.em.fork().findOneOrFail(Invite, { id })
}

type Gates = Partial<Pick<InstanceSettings, 'registrationOpen' | 'federatedRegistrationOpen'>>

/** Sets the gates as an admin would. */
export async function setGates({ deps }: Where, gates: Gates): Promise<void> {
  await deps.orm.em.fork().nativeUpdate(InstanceSettings, { id: 1 }, gates)
}

/** Puts the account's present state into the cache, as a request of that user does. */
export async function cacheState({ deps }: Where, user: User): Promise<void> {
  await deps.accountStateCache.fill(accountStateOf(user), await deps.accountStateCache.lease(user.id))
}

export type PublishedEvent = { name: string; payload: Record<string, unknown>; requestId: string | undefined }

/** The events that are published while it is open, oldest first. */
export async function collectEvents({ deps }: Where, events: readonly EventDefinition[]) {
  const published: PublishedEvent[] = []
  const subscription = await deps.bus.subscribe(events, async ({ name, payload, requestId }) => {
    published.push({ name, payload: payload as Record<string, unknown>, requestId })
  })
  return {
    published,
    /** Waits until `count` events of the account have come, and gives them. */
    async ofUser(userId: string, count: number): Promise<PublishedEvent[]> {
      const found = () => published.filter(({ payload }) => payload['userId'] === userId)
      await eventually(`${count} events of the account`, () => found().length >= count)
      return found()
    },
    [Symbol.asyncDispose]: () => subscription[Symbol.asyncDispose](),
  }
}

/** Who acts with a token of this second, as the caller token tells it. */
export function callerOf({ deps }: Where, userId: string): ActingCaller {
  return { userId, tokenIssuedAt: Math.floor(deps.clock.now() / 1000) }
}
