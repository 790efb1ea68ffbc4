import type { AccountState } from '@gatehouse/contracts'
import { nextId } from '@gatehouse/database'
import { User } from '@gatehouse/domain'
import type { EntityManager, MikroORM, RequiredEntityData } from '@mikro-orm/postgresql'
import { randomName } from './random-name.ts'

export type UserOverrides = Partial<Omit<RequiredEntityData<User>, 'passwordChangedAt'>> & {
  passwordChangedAt?: number | null
}

/**
 * A local account that no password fits, unless told otherwise; put straight into the database, or into the transaction
 * of `em`.
 */
export async function insertUser(
  target: { orm: MikroORM } | { em: EntityManager },
  overrides: UserOverrides = {},
): Promise<User> {
  const em = 'em' in target ? target.em : target.orm.em.fork()
  const user = em.create(User, {
    id: await nextId(em),
    username: randomName(),
    passwordHash: '!unverifiable',
    createdAt: new Date(),
    ...overrides,
  } as RequiredEntityData<User>)
  await em.persist(user).flush()
  return user
}

/** How many transactions of this database wait for a lock right now: the moment that a race test waits for. */
export async function countLockWaits({ orm }: { orm: MikroORM }): Promise<number> {
  const rows = await orm.em.fork().execute<{ waiting: number }[]>(
    `select count(*)::int as waiting from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows[0]?.waiting ?? 0
}

/** The state of a live account at version 1 whose password never changed. */
export function buildAccountState(overrides: Partial<AccountState> = {}): AccountState {
  return {
    userId: '42',
    version: 1,
    username: 'ada',
    isDeleted: false,
    isAdmin: false,
    passwordChangedAt: null,
    sessionsEndedAt: null,
    ...overrides,
  }
}
