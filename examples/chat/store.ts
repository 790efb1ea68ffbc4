import type { Pool } from 'pg'

type Channel = { id: string; name: string }
type Space = Channel & { ownerId: string; channels: Channel[] }
type Person = { id: string; username: string; name: string; avatarColor: string | null }
type Message = { id: string; channelId: string; author: Omit<Person, 'username'>; text: string; createdAt: number }
/** `previousId`: of the message before it in its channel. A page that does not have that one has missed something. */
type NewMessage = Message & { previousId: string | null; spaceId: string }

/** What one account and one space may have, so that `ready` stays small. */
const most = { spaces: 100, channels: 20, members: 1_000, page: 50 }

const person = `case when u.is_deleted then 'Deleted User' else coalesce(u.display_name, u.username) end as "name",
  u.avatar_color as "avatarColor"`
const space = `s.id::text, s.name, s.owner_id::text as "ownerId", coalesce((
  select json_agg(json_build_object('id', c.id::text, 'name', c.name) order by c.id)
  from channels c where c.space_id = s.id), '[]') as channels`
const message = `m.id::text, m.channel_id::text as "channelId", m.content as text,
  json_build_object('id', u.id::text, 'name', p.name, 'avatarColor', p."avatarColor") as author,
  floor(extract(epoch from m.created_at) * 1000)::float8 as "createdAt"`
const ofAuthor = `join users u on u.id = m.author_id cross join lateral (select ${person}) p`

export type Store = ReturnType<typeof createStore>

/**
 * The statements of the chat, on tables that Gatehouse's migrations made. Those that take a user say who may: what is in a
 * space that the user is no member of is not found. Where an account is to write or own something, the row of the account
 * is locked: its deletion commits either before, and nothing is written, or after, and deletes what was written.
 */
// eslint-disable-next-line max-lines-per-function -- the operations of one store
export function createStore(pool: Pool) {
  const all = async <Row extends object>(sql: string, values: unknown[]) => (await pool.query<Row>(sql, values)).rows
  const one = async <Row extends object>(sql: string, values: unknown[]) => (await all<Row>(sql, values))[0]
  const listMessages = (where: string, values: unknown[]) =>
    all<Message>(`select ${message} from messages m ${ofAuthor} where ${where} limit ${most.page}`, values)

  return {
    listSpaces: (userId: string) =>
      all<Space>(
        `select ${space} from spaces s join space_members m on m.space_id = s.id
         where m.user_id = $1 order by s.id limit ${most.spaces}`,
        [userId],
      ),

    findSpace: (spaceId: string, userId: string) =>
      one<Space>(
        `select ${space} from spaces s join space_members m on m.space_id = s.id where s.id = $1 and m.user_id = $2`,
        [spaceId, userId],
      ),

    /** A space with its owner and one channel, unless the user is gone or has too many. */
    createSpace: (ownerId: string, name: string) =>
      one<{ id: string }>(
        `with owner as (select id from users where id = $1 and not is_deleted for share),
           made as (insert into spaces (id, name, owner_id) select next_snowflake(), $2, id from owner
             where (select count(*) from space_members where user_id = $1) < ${most.spaces} returning id, owner_id),
           member as (insert into space_members (space_id, user_id) select id, owner_id from made)
         insert into channels (id, space_id, name) select next_snowflake(), id, 'general' from made
         returning space_id::text as id`,
        [ownerId, name],
      ),

    /** The members that it had: none when it is not this owner's. */
    deleteSpace: (spaceId: string, ownerId: string) =>
      all<{ id: string }>(
        `with gone as (delete from spaces where id = $1 and owner_id = $2 returning id)
         select m.user_id::text as id from space_members m join gone on gone.id = m.space_id`,
        [spaceId, ownerId],
      ),

    createChannel: (spaceId: string, ownerId: string, name: string) =>
      one<Channel>(
        `insert into channels (id, space_id, name) select next_snowflake(), id, $3 from spaces
         where id = $1 and owner_id = $2 and (select count(*) from channels where space_id = $1) < ${most.channels}
         returning id::text, name`,
        [spaceId, ownerId, name],
      ),

    listMembers: (spaceId: string) =>
      all<Person>(
        `select u.id::text, u.username, ${person} from space_members m join users u on u.id = m.user_id
         where m.space_id = $1 order by u.username limit ${most.members}`,
        [spaceId],
      ),

    /** A live account that is not banned there and not in too many spaces becomes a member, or stays one. */
    addMember: (spaceId: string, username: string) =>
      one<{ id: string }>(
        `with person as (select u.id from users u where u.username = $2 and not u.is_deleted
             and not exists (select from bans b where b.space_id = $1 and b.user_id = u.id)
             and (select count(*) from space_members m where m.user_id = u.id) < ${most.spaces} for share of u),
           added as (insert into space_members (space_id, user_id) select $1, id from person on conflict do nothing)
         select id::text from person`,
        [spaceId, username],
      ),

    /** The space of a channel that the user may read and write. */
    findChannel: (channelId: string, userId: string) =>
      one<{ spaceId: string }>(
        `select c.space_id::text as "spaceId" from channels c join space_members m using (space_id)
         where c.id = $1 and m.user_id = $2`,
        [channelId, userId],
      ),

    /** The newest first; those before one, if it is given. */
    listBefore: (channelId: string, before: string | undefined) =>
      listMessages('m.channel_id = $1 and ($2::bigint is null or m.id < $2) order by m.id desc', [channelId, before]),

    /** The oldest first. */
    listAfter: (channelId: string, after: string) =>
      listMessages('m.channel_id = $1 and m.id > $2 order by m.id', [channelId, after]),

    /** Undefined where the user may not write. */
    writeMessage: (channelId: string, authorId: string, text: string) =>
      one<NewMessage>(
        `with author as (select id from users where id = $2 and not is_deleted for share),
           place as (select c.id, c.space_id from channels c join space_members s using (space_id)
             where c.id = $1 and s.user_id = $2),
           m as (insert into messages (id, channel_id, author_id, content)
             select next_snowflake(), place.id, author.id, $3 from author, place returning *)
         select ${message}, place.space_id::text as "spaceId",
           (select max(id)::text from messages where channel_id = $1 and id < m.id) as "previousId"
         from place, m ${ofAuthor}`,
        [channelId, authorId, text],
      ),

    /** Where it was; undefined when it is not this author's, or the author is no member any more. */
    deleteMessage: (messageId: string, authorId: string) =>
      one<{ channelId: string; spaceId: string }>(
        `delete from messages m using channels c join space_members s using (space_id)
         where m.id = $1 and m.author_id = $2 and c.id = m.channel_id and s.user_id = $2
         returning c.id::text as "channelId", c.space_id::text as "spaceId"`,
        [messageId, authorId],
      ),
  }
}
