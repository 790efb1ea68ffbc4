import { changeRows, read } from '@gatehouse/database'
import { deletedUsername } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'

/** Rows of one user. */
const ownRows = [
  ...['space_members', 'role_assignments', 'read_states', 'space_folders', 'presences'],
  ...['federation_registries', 'federation_credentials', 'attach_proofs', 'second_factors', 'passkeys', 'sign_ins'],
]

type SharedTable = { table: string; key: string; columns: readonly string[] }

/** Two tombstones may want the same rows. */
const sharedRows: readonly SharedTable[] = [
  { table: 'friendships', key: 'user_id, friend_id', columns: ['user_id', 'friend_id'] },
  { table: 'friend_requests', key: 'id', columns: ['from_user_id', 'to_user_id'] },
]

/** Rows about the user are deleted. Rows that name the user as the moderator lose the name. */
const moderation = [
  { table: 'bans', key: 'space_id, user_id', moderator: 'banned_by' },
  { table: 'join_requests', key: 'id', moderator: 'decided_by' },
  { table: 'voice_restrictions', key: 'space_id, user_id', moderator: 'moderator_id' },
]

/** Spec: Tombstone, deleted rows and nulled references. */
export async function deleteRelations(em: EntityManager, userId: string): Promise<void> {
  for (const table of ownRows) await changeRows(em, `delete from ${table} where user_id = ?`, [userId])
  await changeRows(em, 'update audit_log set actor_username = ? where actor_id = ?', [deletedUsername, userId])
  const named = "update audit_log set target_name = ? where target_type = 'user' and target_id = ?"
  await changeRows(em, named, [deletedUsername, userId])
  await changeRows(em, "delete from channel_overrides where target_type = 'member' and target_id = ?", [userId])
  for (const shared of sharedRows) {
    await lockInOrder(em, shared, userId)
    await changeRows(em, `delete from ${shared.table} where ${anyOf(shared.columns)}`, [userId, userId])
  }
  for (const { table, key, moderator } of await findExisting(em, moderation)) {
    await lockInOrder(em, { table, key, columns: ['user_id', moderator] }, userId)
    await changeRows(em, `delete from ${table} where user_id = ?`, [userId])
    await changeRows(em, `update ${table} set ${moderator} = null where ${moderator} = ?`, [userId])
  }
}

/** An instance may lack a table; naming it would abort. Asked each time: a migration may add one meanwhile. */
export async function findExisting<T extends { table: string }>(em: EntityManager, tables: readonly T[]): Promise<T[]> {
  const sql = 'select name from unnest(?::text[]) as name where to_regclass(name) is not null'
  const rows = await read<{ name: string }>(em, sql, [`{${tables.map(({ table }) => table).join(',')}}`])
  const existing = new Set(rows.map(({ name }) => name))
  return tables.filter(({ table }) => existing.has(table))
}

/** In the order of the key: two deletions at once do not deadlock. */
async function lockInOrder(em: EntityManager, { table, key, columns }: SharedTable, userId: string): Promise<void> {
  const sql = `with locked as (select 1 from ${table} where ${anyOf(columns)} order by ${key} for update)
    select count(*) from locked`
  await em.execute(sql, [userId, userId])
}

const anyOf = (columns: readonly string[]) => columns.map((column) => `${column} = ?`).join(' or ')
