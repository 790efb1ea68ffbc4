import { changeRows } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'

/**
 * Deletes the user's messages and reactions in spaces; the files of the attachments are recorded for removal. Full mode
 * only. Spec: Tombstone, full mode; Contract: 3, delete.
 */
export async function purgeSpaceContent(em: EntityManager, userId: string): Promise<void> {
  await changeRows(
    em,
    `with deleted as (
       delete from message_attachments a using messages m
       where m.id = a.message_id and m.author_id = ? returning a.filename
     )
     insert into file_removals (filename) select filename from deleted`,
    [userId],
  )
  await changeRows(em, 'delete from message_embeds e using messages m where m.id = e.message_id and m.author_id = ?', [
    userId,
  ])
  await deleteMessageReactions(em, userId)
  await changeRows(em, 'delete from messages where author_id = ?', [userId])
}

/**
 * The user's reactions and those on the user's messages. Two users who are deleted at once may have reacted to each other:
 * the rows are locked in the order of their key before any is deleted.
 */
async function deleteMessageReactions(em: EntityManager, userId: string): Promise<void> {
  await changeRows(
    em,
    `with locked as (
       select r.message_id, r.user_id, r.emoji from message_reactions r
       where (r.message_id, r.user_id, r.emoji) in (
         select message_id, user_id, emoji from message_reactions where user_id = ?
         union
         select o.message_id, o.user_id, o.emoji from message_reactions o
         join messages m on m.id = o.message_id where m.author_id = ?
       )
       order by r.message_id, r.user_id, r.emoji for update
     )
     delete from message_reactions r using locked l
     where r.message_id = l.message_id and r.user_id = l.user_id and r.emoji = l.emoji`,
    [userId, userId],
  )
}
