import { changeRows } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { OptionalTable } from './optional-tables.ts'

/** Rows that belong to the user alone, so that no other tombstone wants them. */
const ownRows = ['space_members', 'role_assignments', 'read_states', 'space_folders', 'presences'] as const

type SharedTable = { table: string; key: string; columns: readonly string[] }

/** Rows that two people share: two tombstones may want the same ones. */
const sharedRows: readonly SharedTable[] = [
  { table: 'friendships', key: 'user_id, friend_id', columns: ['user_id', 'friend_id'] },
  { table: 'friend_requests', key: 'id', columns: ['from_user_id', 'to_user_id'] },
]

type Moderation = { table: OptionalTable; key: string; moderator: string }

/** Rows about the user go; rows that name them as the one who decided stay, without the name. */
const moderation: readonly Moderation[] = [
  { table: 'bans', key: 'space_id, user_id', moderator: 'banned_by' },
  { table: 'join_requests', key: 'id', moderator: 'decided_by' },
  { table: 'voice_restrictions', key: 'space_id, user_id', moderator: 'moderator_id' },
]

/** Takes the user out of spaces, friendships and moderation. Spec: Tombstone, deleted rows and nulled references. */
export async function deleteRelations(em: EntityManager, userId: string, optional: ReadonlySet<OptionalTable>) {
  for (const table of ownRows) await changeRows(em, `delete from ${table} where user_id = ?`, [userId])
  await changeRows(em, "delete from channel_overrides where target_type = 'member' and target_id = ?", [userId])
  for (const shared of sharedRows) {
    await lockInOrder(em, shared, userId)
    await changeRows(em, `delete from ${shared.table} where ${anyOf(shared.columns)}`, both(userId))
  }
  for (const { table, key, moderator } of moderation) {
    if (!optional.has(table)) continue
    await lockInOrder(em, { table, key, columns: ['user_id', moderator] }, userId)
    await changeRows(em, `delete from ${table} where user_id = ?`, [userId])
    await changeRows(em, `update ${table} set ${moderator} = null where ${moderator} = ?`, [userId])
  }
}

/** In the order of the key, whoever asks: two people who leave at once wait for each other and do not block each other. */
async function lockInOrder(em: EntityManager, { table, key, columns }: SharedTable, userId: string): Promise<void> {
  const sql = `with locked as (select 1 from ${table} where ${anyOf(columns)} order by ${key} for update)
    select count(*) from locked`
  await em.execute(sql, both(userId))
}

const anyOf = (columns: readonly string[]) => columns.map((column) => `${column} = ?`).join(' or ')
const both = (userId: string) => [userId, userId]
