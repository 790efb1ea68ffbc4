import { InstanceSettings, Invite, User, accountStateOf, nextId, stubPasswordHash } from '@gatehouse/domain'
import { selectRows } from '@gatehouse/database'
import { randomToken } from '@gatehouse/runtime'
import type { RequiredEntityData } from '@mikro-orm/postgresql'
import { testPasswordHash } from './quick-hasher.ts'
import type { TestIdentity } from './harness.ts'

type Overrides = Partial<Omit<RequiredEntityData<User>, 'id'>> & { id?: string }

let built = 0

/** A local account with `testPassword`, unless told otherwise; put straight into the database. */
export async function buildUser({ deps }: Pick<TestIdentity, 'deps'>, overrides: Overrides = {}): Promise<User> {
  const em = deps.orm.em.fork()
  built += 1
  const user = em.create(User, {
    id: overrides.id ?? (await nextId(em)),
    username: `user_${built}`,
    passwordHash: testPasswordHash,
    createdAt: new Date(deps.clock.now()),
    ...overrides,
  } as RequiredEntityData<User>)
  await em.persist(user).flush()
  return user
}

/** The account as it stands in the database now. */
export async function readUser({ deps }: Pick<TestIdentity, 'deps'>, id: string): Promise<User> {
  return await deps.orm.em.fork().findOneOrFail(User, { id })
}

/** A placeholder for somebody at `home.example`, as the relay makes it. */
export async function buildStub(identity: Pick<TestIdentity, 'deps'>, overrides: Overrides = {}): Promise<User> {
  built += 1
  return await buildUser(identity, {
    username: `stub_${built}@home.example`,
    passwordHash: stubPasswordHash,
    homeInstance: 'home.example',
    ...overrides,
  })
}

/** An active invite of one use, unless told otherwise. */
export async function buildInvite(
  { deps }: Pick<TestIdentity, 'deps'>,
  overrides: Partial<Pick<Invite, 'maxUses' | 'usedCount' | 'expiresAt' | 'revokedAt'>> = {},
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
export async function readInvite({ deps }: Pick<TestIdentity, 'deps'>, id: string): Promise<Invite> {
  return await deps.orm.em.fork().findOneOrFail(Invite, { id })
}

type Gates = Partial<Pick<InstanceSettings, 'registrationOpen' | 'federatedRegistrationOpen'>>

/** Sets the gates as an admin would. */
export async function setGates({ deps }: Pick<TestIdentity, 'deps'>, gates: Gates): Promise<void> {
  await deps.orm.em.fork().nativeUpdate(InstanceSettings, { id: 1 }, gates)
}

/** Whether some transaction waits for another's lock: the moment a race test has been waiting for. */
export async function someoneWaits({ deps }: Pick<TestIdentity, 'deps'>): Promise<boolean> {
  const waiting = await selectRows(
    deps.orm.em.fork(),
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return waiting.length > 0
}

/** Has the cache hold the account as it stands, as after a request of that user. */
export async function cacheState({ deps }: Pick<TestIdentity, 'deps'>, user: User): Promise<void> {
  await deps.store.fill(accountStateOf(user), await deps.store.lease(user.id))
}

/** Has the cache know an account, as it does once somebody has come with its token. */
export async function rememberState({ deps }: Pick<TestIdentity, 'deps'>, user: User): Promise<void> {
  await deps.store.fill(accountStateOf(user), await deps.store.lease(user.id))
}
