import { accounts } from './accounts.ts'
import { chat } from './chat.ts'
import { federation } from './federation.ts'

/** The statements of each migration by its name, in their order. They are only ever added. */
export const release020 = {
  Migration20261121Accounts: accounts,
  Migration20261121Chat: chat,
  Migration20261121Federation: federation,
  Migration20261121Identities: [
    `alter table users
      add column former_home_instance text,
      add column former_home_user_id text,
      add column federation_home_orphaned boolean not null default false,
      add column avatar_source text,
      add column banner_source text,
      add constraint users_detached_check check (
        federation_home_orphaned = (former_home_instance is not null)
        and (former_home_instance is null or home_instance is null)
        and (former_home_user_id is null or former_home_instance is not null))`,
    `create table federation_registries (
      user_id bigint primary key references users (id) on delete cascade,
      entries jsonb not null,
      updated_at bigint not null
    )`,
  ],
  /** For the temporary password of an admin's reset. */
  Migration20261121Sessions: ['alter table users add column password_change_required boolean not null default false'],
  /** The limits count for all replicas. Their table is unlogged: a crash of the database resets them. Contract: 1, rate limits. */
  Migration20261122FederationLimits: [
    `create unlogged table federation_limits (
      name text not null,
      key text not null,
      requests integer not null,
      ends_at timestamptz not null,
      primary key (name, key)
    )`,
    'create index federation_limits_end on federation_limits (ends_at)',
    `create index users_profile_changes on users (profile_updated_at, id)
      where profile_updated_at > 0 and home_instance is null and not is_deleted`,
  ],
  /** The indexes read an author's messages in pages: without them each page of an export sorts all messages. */
  Migration20261122OwnData: [
    'alter table users add column sessions_ended_by_reset boolean not null default false',
    ...['messages', 'dm_messages'].flatMap((table) => [
      `create index ${table}_author_page on ${table} (author_id, id)`,
      `drop index ${table}_author`,
    ]),
  ],
  /** The trace of an outbox event. */
  Migration20261122Traces: ['alter table outbox add column traceparent text'],
}
