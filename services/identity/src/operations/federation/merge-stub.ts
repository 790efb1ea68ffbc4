import { changeRows } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'
import { findExisting } from '../deletion/delete-relations.ts'

/** `key`: what the table allows once for each user. */
type Reference = { table: string; column: string; key?: readonly string[] }

const references: readonly Reference[] = [
  { table: 'space_members', column: 'user_id', key: ['space_id'] },
  { table: 'role_assignments', column: 'user_id', key: ['role_id'] },
  { table: 'bans', column: 'user_id', key: ['space_id'] },
  { table: 'voice_restrictions', column: 'user_id', key: ['space_id'] },
  { table: 'join_requests', column: 'user_id', key: ['space_id'] },
  { table: 'dm_members', column: 'user_id', key: ['channel_id'] },
  { table: 'read_states', column: 'user_id', key: ['channel_id'] },
  { table: 'message_reactions', column: 'user_id', key: ['message_id', 'emoji'] },
  { table: 'dm_reactions', column: 'user_id', key: ['message_id', 'emoji'] },
  { table: 'friendships', column: 'user_id', key: ['friend_id'] },
  { table: 'friendships', column: 'friend_id', key: ['user_id'] },
  { table: 'friend_requests', column: 'from_user_id', key: ['to_user_id'] },
  { table: 'friend_requests', column: 'to_user_id', key: ['from_user_id'] },
  ...['messages', 'dm_messages'].map((table) => ({ table, column: 'author_id' })),
  { table: 'space_folders', column: 'user_id' },
  { table: 'dm_channels', column: 'owner_id' },
]

const pairs = [
  { table: 'friendships', columns: ['user_id', 'friend_id'] },
  { table: 'friend_requests', columns: ['from_user_id', 'to_user_id'] },
] as const

type Merge = { stubId: string; accountId: string }

/** What the account has already stays with the stub. A stub moderates nothing. federation-wire.md 4, attach 4. */
export async function mergeStub(em: EntityManager, { stubId, accountId }: Merge): Promise<void> {
  for (const { table, columns } of pairs) {
    const [one, other] = columns
    const sql = `delete from ${table} where (${one} = ? and ${other} = ?) or (${one} = ? and ${other} = ?)`
    await changeRows(em, sql, [stubId, accountId, accountId, stubId])
  }
  for (const reference of await findExisting(em, references)) {
    await changeRows(em, moveOf(reference), [accountId, stubId, ...(reference.key ? [accountId] : [])])
  }
  await changeRows(
    em,
    `update channel_overrides moved set target_id = ? where target_type = 'member' and target_id = ? and not exists (
       select 1 from channel_overrides kept
       where kept.channel_id = moved.channel_id and kept.target_type = 'member' and kept.target_id = ?)`,
    [accountId, stubId, accountId],
  )
}

function moveOf({ table, column, key }: Reference): string {
  const sql = `update ${table} moved set ${column} = ? where moved.${column} = ?`
  if (!key) return sql
  const same = key.map((name) => `kept.${name} = moved.${name}`).join(' and ')
  return `${sql} and not exists (select 1 from ${table} kept where kept.${column} = ? and ${same})`
}
