import type { AccountState } from '@gatehouse/contracts'
import type { EntityManager } from '@mikro-orm/postgresql'
import { selectRows } from './rows.ts'

type Row = {
  id: string
  username: string
  is_deleted: boolean
  is_admin: boolean
  state_version: number
  password_changed_at: string | null
  sessions_ended_at: string | null
}

/** What decides over an account's tokens, read from the truth; ids that are unknown are missing from the answer. */
export async function readAccountStates(em: EntityManager, userIds: readonly string[]): Promise<AccountState[]> {
  const rows = await selectRows<Row>(
    em,
    `select id, username, is_deleted, is_admin, state_version, password_changed_at, sessions_ended_at
     from users where id = any(?::bigint[])`,
    [`{${userIds.join(',')}}`],
  )
  return rows.map((row) => ({
    userId: String(row.id),
    version: row.state_version,
    username: row.username,
    isDeleted: row.is_deleted,
    isAdmin: row.is_admin,
    passwordChangedAt: row.password_changed_at === null ? null : Number(row.password_changed_at),
    sessionsEndedAt: row.sessions_ended_at === null ? null : Number(row.sessions_ended_at),
  }))
}
