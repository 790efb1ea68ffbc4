import { policy } from '../../policy.ts'

/** A page after a key, in the order of keys. `fillIn` replaces `:user`, `:after` and `:limit`. */
export type OwnRows = { sql: string; key: 'id' | 'userId' | 'filename' }

const rowsOf =
  (file: string, key: OwnRows['key']) =>
  (sql: TemplateStringsArray, ...parts: string[]) => ({ file, key, sql: String.raw(sql, ...parts) })

const ms = (column: string) => `floor(extract(epoch from ${column}) * 1000)::float8`
const nameOf = (user: string) => `case when ${user}.is_deleted then 'Deleted User' else ${user}.username end`
const attachments = (table: string, message: string) =>
  `(select coalesce(array_agg(filename order by id), '{}') from ${table} where message_id = ${message}.id)`

/** Times in milliseconds, ids as text. Contract: 3, export. */
export const ownRows: readonly (OwnRows & { file: string })[] = [
  rowsOf('second-factor.json', 'userId')`
    select user_id::text as "userId", ${ms('confirmed_at')} as since, jsonb_array_length(recovery_codes) as "recoveryCodesLeft"
    from second_factors where user_id = :user and user_id > :after order by user_id limit :limit`,
  rowsOf('passkeys.json', 'id')`
    select id::text as id, name, ${ms('created_at')} as "createdAt", ${ms('last_used_at')} as "lastUsedAt"
    from passkeys where user_id = :user and id > :after order by id limit :limit`,
  rowsOf('linked-identities.json', 'id')`
    select id::text as id, provider, issuer, subject, name, ${ms('linked_at')} as "linkedAt",
      ${ms('last_used_at')} as "lastUsedAt"
    from linked_identities where user_id = :user and id > :after order by id limit :limit`,
  rowsOf('email.json', 'userId')`
    select user_id::text as "userId", address, language, notices, ${ms('confirmed_at')} as "confirmedAt",
      ${ms('bounced_at')} as "bouncedAt"
    from emails where user_id = :user and user_id > :after order by user_id limit :limit`,
  rowsOf('applications.json', 'id')`
    select application_id::text as id, applications.name, scopes, ${ms('granted_at')} as "grantedAt",
      ${ms('last_used_at')} as "lastUsedAt"
    from application_consents left join applications on applications.id = application_id
    where account_id = :user and application_id > :after order by application_id limit :limit`,
  rowsOf('sign-ins.json', 'id')`
    select id::text as id, ${ms('signed_in_at')} as "signedInAt", method, network, device
    from sign_ins where user_id = :user and id > :after order by id limit :limit`,
  rowsOf('deletion-orders.json', 'id')`
    select id::text as id, origin, mode, state, error, ${ms('given_at')} as "givenAt", ${ms('ended_at')} as "endedAt", receipt
    from deletion_orders where user_id = :user and id > :after order by id limit :limit`,
  rowsOf('uploads.json', 'filename')`
    select filename, size, mimetype, ${ms('created_at')} as "createdAt", claimed_at is not null as "inUse"
    from uploads where user_id = :user and filename > :after order by filename limit :limit`,
  rowsOf('friends.json', 'userId')`
    select own.id::text as "userId", ${nameOf('users')} as username, ${ms('own.since')} as since
    from (
      select id, min(created_at) as since from (
        select friend_id as id, created_at from friendships where user_id = :user
        union all select user_id, created_at from friendships where friend_id = :user
      ) both_sides group by id
    ) own join users on users.id = own.id
    where own.id > :after order by own.id limit :limit`,
  rowsOf('friend-requests.json', 'id')`
    select request.id::text as id, case when from_user_id = :user then 'sent' else 'received' end as direction,
      users.id::text as "userId", ${nameOf('users')} as username, ${ms('request.created_at')} as "createdAt"
    from (
      select * from friend_requests where from_user_id = :user union select * from friend_requests where to_user_id = :user
    ) request join users on users.id = case when from_user_id = :user then to_user_id else from_user_id end
    where request.id > :after order by request.id limit :limit`,
  rowsOf('spaces.json', 'id')`
    select spaces.id::text as id, name, owner_id = :user as "isOwner", ${ms('joined_at')} as "joinedAt"
    from spaces left join space_members on space_id = spaces.id and user_id = :user
    where spaces.id in (
      select space_id from space_members where user_id = :user union select id from spaces where owner_id = :user
    ) and spaces.id > :after order by spaces.id limit :limit`,
  rowsOf('messages.json', 'id')`
    select messages.id::text as id, space_id::text as "spaceId", channel_id::text as "channelId",
      channels.name as channel, content, ${ms('created_at')} as "createdAt",
      ${attachments('message_attachments', 'messages')} as attachments
    from messages join channels on channels.id = channel_id
    where author_id = :user and messages.id > :after order by messages.id limit :limit`,
  rowsOf('direct-messages.json', 'id')`
    select id::text as id, channel_id::text as "channelId", content, ${ms('created_at')} as "createdAt",
      ${attachments('dm_attachments', 'dm_messages')} as attachments
    from dm_messages where author_id = :user and id > :after order by id limit :limit`,
]

const attachedTo = (messages: string, attached: string): OwnRows => ({
  key: 'id',
  sql: `select id::text as id, ${attachments(attached, messages)} as filenames from ${messages}
    where author_id = :user and id > :after and exists (select from ${attached} where message_id = ${messages}.id)
    order by id limit :limit`,
})

export const ownFiles: readonly (OwnRows & { folder: string })[] = [
  {
    folder: 'uploads',
    key: 'filename',
    sql: `select filename, array[filename] as filenames from uploads
      where user_id = :user and filename > :after order by filename limit :limit`,
  },
  { folder: 'attachments', ...attachedTo('messages', 'message_attachments') },
  { folder: 'direct-attachments', ...attachedTo('dm_messages', 'dm_attachments') },
]

type Page = { userId: string; after: string }

export function fillIn({ sql, key }: OwnRows, { userId, after }: Page): { sql: string; parameters: unknown[] } {
  const values = { user: userId, after, limit: policy.exportPageRows } as const
  const types = { user: 'bigint', after: key === 'filename' ? 'text' : 'bigint', limit: 'int' } as const
  const parameters: unknown[] = []
  const filled = sql.replace(/(?<!:):(user|after|limit)\b/g, (_, name: keyof typeof values) => {
    parameters.push(values[name])
    return `?::${types[name]}`
  })
  return { sql: filled, parameters }
}
