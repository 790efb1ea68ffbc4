const spaces = [
  `create table spaces (
    id bigint primary key,
    name text not null,
    owner_id bigint not null references users (id)
  )`,
  'create index spaces_owner on spaces (owner_id)',
  /** A deleted account owns nothing, however the statements interleave. */
  `create function refuse_deleted_owner() returns trigger language plpgsql as $$
  begin
    perform 1 from users where id = new.owner_id and not is_deleted for key share;
    if not found then
      raise exception 'the owner of a space is not a live account'
        using errcode = 'foreign_key_violation', constraint = 'spaces_owner_lives';
    end if;
    return new;
  end $$`,
  `create trigger spaces_owner_lives before insert or update of owner_id on spaces
    for each row execute function refuse_deleted_owner()`,
  `create table space_members (
    space_id bigint not null references spaces (id) on delete cascade,
    user_id bigint not null references users (id) on delete cascade,
    joined_at timestamptz not null default now(),
    primary key (space_id, user_id)
  )`,
  'create index space_members_user on space_members (user_id)',
  `create table roles (
    id bigint primary key,
    space_id bigint not null references spaces (id) on delete cascade,
    name text not null
  )`,
  'create index roles_space on roles (space_id)',
  `create table role_assignments (
    role_id bigint not null references roles (id) on delete cascade,
    user_id bigint not null references users (id) on delete cascade,
    primary key (role_id, user_id)
  )`,
  'create index role_assignments_user on role_assignments (user_id)',
  `create table channels (
    id bigint primary key,
    space_id bigint not null references spaces (id) on delete cascade,
    name text not null
  )`,
  'create index channels_space on channels (space_id)',
  `create table channel_overrides (
    channel_id bigint not null references channels (id) on delete cascade,
    target_type text not null check (target_type in ('role', 'member')),
    target_id bigint not null,
    allow bigint not null default 0,
    deny bigint not null default 0,
    primary key (channel_id, target_type, target_id)
  )`,
  'create index channel_overrides_target on channel_overrides (target_type, target_id)',
  ...messagesOf('channels', 'messages'),
  ...part('messages', 'message_attachments', 'filename text not null'),
  ...part('messages', 'message_embeds', 'url text not null'),
  ...reactions('messages', 'message_reactions'),
  `create table bans (
    space_id bigint not null references spaces (id) on delete cascade,
    user_id bigint not null references users (id) on delete cascade,
    banned_by bigint references users (id) on delete set null,
    reason text,
    primary key (space_id, user_id)
  )`,
  'create index bans_user on bans (user_id)',
  'create index bans_banned_by on bans (banned_by)',
  `create table join_requests (
    id bigint primary key,
    space_id bigint not null references spaces (id) on delete cascade,
    user_id bigint not null references users (id) on delete cascade,
    decided_by bigint references users (id) on delete set null,
    status text not null default 'pending'
  )`,
  'create index join_requests_space on join_requests (space_id)',
  'create index join_requests_user on join_requests (user_id)',
  'create index join_requests_decided_by on join_requests (decided_by)',
  `create table voice_restrictions (
    space_id bigint not null references spaces (id) on delete cascade,
    user_id bigint not null references users (id) on delete cascade,
    moderator_id bigint references users (id) on delete set null,
    primary key (space_id, user_id)
  )`,
  'create index voice_restrictions_user on voice_restrictions (user_id)',
  'create index voice_restrictions_moderator on voice_restrictions (moderator_id)',
]

const userRelations = [
  `create table friendships (
    user_id bigint not null references users (id) on delete cascade,
    friend_id bigint not null references users (id) on delete cascade,
    created_at timestamptz not null default now(),
    primary key (user_id, friend_id)
  )`,
  'create index friendships_friend on friendships (friend_id)',
  `create table friend_requests (
    id bigint primary key,
    from_user_id bigint not null references users (id) on delete cascade,
    to_user_id bigint not null references users (id) on delete cascade,
    created_at timestamptz not null default now()
  )`,
  'create index friend_requests_from on friend_requests (from_user_id)',
  'create index friend_requests_to on friend_requests (to_user_id)',
  `create table read_states (
    user_id bigint not null references users (id) on delete cascade,
    channel_id bigint not null,
    last_read_id bigint,
    primary key (user_id, channel_id)
  )`,
  `create table space_folders (
    id bigint primary key,
    user_id bigint not null references users (id) on delete cascade,
    name text,
    position integer not null default 0
  )`,
  'create index space_folders_user on space_folders (user_id)',
]

const directMessages = [
  `create table dm_channels (
    id bigint primary key,
    is_group boolean not null default false,
    owner_id bigint references users (id) on delete set null,
    name text
  )`,
  'create index dm_channels_owner on dm_channels (owner_id)',
  `create table dm_members (
    channel_id bigint not null references dm_channels (id) on delete cascade,
    user_id bigint not null references users (id) on delete cascade,
    joined_at timestamptz not null default now(),
    primary key (channel_id, user_id)
  )`,
  'create index dm_members_user on dm_members (user_id)',
  ...messagesOf('dm_channels', 'dm_messages'),
  ...part('dm_messages', 'dm_attachments', 'filename text not null'),
  ...reactions('dm_messages', 'dm_reactions'),
]

/** Other services fill these tables: here one transaction deletes an account. Indexes keep cascades fast. */
export const chat = [...spaces, ...userRelations, ...directMessages]

function messagesOf(channels: string, table: string): string[] {
  return [
    `create table ${table} (
      id bigint primary key,
      channel_id bigint not null references ${channels} (id) on delete cascade,
      author_id bigint not null references users (id) on delete cascade,
      content text not null default '',
      created_at timestamptz not null default now()
    )`,
    `create index ${table}_channel on ${table} (channel_id, id)`,
    `create index ${table}_author on ${table} (author_id)`,
  ]
}

function part(messages: string, table: string, column: string): string[] {
  return [
    `create table ${table} (
      id bigint primary key,
      message_id bigint not null references ${messages} (id) on delete cascade,
      ${column}
    )`,
    `create index ${table}_message on ${table} (message_id)`,
  ]
}

function reactions(messages: string, table: string): string[] {
  return [
    `create table ${table} (
      message_id bigint not null references ${messages} (id) on delete cascade,
      user_id bigint not null references users (id) on delete cascade,
      emoji text not null,
      primary key (message_id, user_id, emoji)
    )`,
    `create index ${table}_user on ${table} (user_id)`,
  ]
}
