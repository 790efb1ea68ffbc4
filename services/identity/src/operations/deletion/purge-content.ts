import { changeRows } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'

/** Messages and reactions in spaces. Spec: Tombstone, full mode; Contract: 3, delete. */
export async function purgeSpaceContent(em: EntityManager, userId: string): Promise<void> {
  await deleteFiles(em, {
    sql: `delete from message_attachments a using messages m
      where m.id = a.message_id and m.author_id = ? returning a.filename`,
    parameters: [userId],
  })
  const embeds = 'delete from message_embeds e using messages m where m.id = e.message_id and m.author_id = ?'
  await changeRows(em, embeds, [userId])
  await deleteReactions(em, {
    ...{ table: 'message_reactions', messages: 'messages', on: 'm.author_id = ?' },
    parameters: [userId, userId],
  })
  await changeRows(em, 'delete from messages where author_id = ?', [userId])
}

/** Records the files of deleted rows for removal. The statement returns `filename`. */
export async function deleteFiles(em: EntityManager, { sql, parameters }: { sql: string; parameters: unknown[] }) {
  const record = `with deleted as (${sql}) insert into file_removals (filename) select filename from deleted`
  await changeRows(em, record, parameters)
}

/** `on`: which messages; `parameters`: the user, or null, and that of `on`. */
type Reactions = { table: string; messages: string; on: string; parameters: [string | null, string] }

/**
 * Deletes a user's reactions, and those on messages. Locks them in the order of their key: two users who are deleted at
 * once may have reacted to each other.
 */
export async function deleteReactions(em: EntityManager, { table, messages, on, parameters }: Reactions) {
  await changeRows(
    em,
    `with locked as (
       select r.message_id, r.user_id, r.emoji from ${table} r
       where (r.message_id, r.user_id, r.emoji) in (
         select message_id, user_id, emoji from ${table} where user_id = ?::bigint
         union
         select o.message_id, o.user_id, o.emoji from ${table} o join ${messages} m on m.id = o.message_id where ${on}
       )
       order by r.message_id, r.user_id, r.emoji for update
     )
     delete from ${table} r using locked l
     where r.message_id = l.message_id and r.user_id = l.user_id and r.emoji = l.emoji`,
    parameters,
  )
}
