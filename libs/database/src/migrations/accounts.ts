export const accounts = [
  // Statuses change often and are in no index: with free room on its page, such a change writes no index.
  `create table users (
    id bigint primary key,
    username text not null,
    password_hash text not null,
    display_name text,
    avatar text,
    banner text,
    bio text,
    custom_status text,
    accent_color text,
    avatar_color text,
    status text not null default 'offline' check (status in ('online', 'offline')),
    is_admin boolean not null default false,
    is_deleted boolean not null default false,
    password_changed_at bigint,
    sessions_ended_at bigint,
    state_version integer not null default 1,
    home_instance text,
    home_user_id text,
    replicated_instances text not null default '[]',
    discoverable boolean not null default true,
    show_activity boolean not null default true,
    profile_updated_at bigint not null default 0,
    created_at timestamptz not null default now(),
    constraint users_username_unique unique (username),
    constraint users_home_user_needs_home check (home_user_id is null or home_instance is not null)
  ) with (fillfactor = 80)`,
  `create unique index users_identity_unique on users (home_instance, home_user_id)
    where home_user_id is not null and not is_deleted`,
  "create index users_home_base_name on users (home_instance, split_part(username, '@', 1))",
  'create index users_created on users (created_at, id)',
  'create index users_admins on users (id) where is_admin',
  `create table instance_settings (
    id integer primary key check (id = 1),
    instance_id uuid not null default gen_random_uuid(),
    instance_name text not null default 'Gatehouse',
    registration_open boolean,
    federated_registration_open boolean not null default true,
    auto_accept_peering boolean not null default false,
    worker_id integer not null check (worker_id between 0 and 1023),
    first_admin_id bigint
  )`,
  'insert into instance_settings (id, worker_id) values (1, floor(random() * 1024)::integer)',
  'create sequence snowflake_sequence as integer minvalue 0 maxvalue 4095 start 0 cycle',
  `create function next_snowflake() returns bigint language sql volatile as $$
    select ((floor(extract(epoch from clock_timestamp()) * 1000)::bigint - 1704067200000) << 22)
      | ((select worker_id from instance_settings where id = 1)::bigint << 12)
      | nextval('snowflake_sequence')
  $$`,
  `create table invites (
    id bigint primary key,
    token text not null constraint invites_token_unique unique,
    name text not null,
    max_uses integer check (max_uses > 0),
    used_count integer not null default 0 check (used_count >= 0),
    expires_at timestamptz,
    revoked_at timestamptz,
    created_by bigint references users (id) on delete set null,
    created_at timestamptz not null default now(),
    last_redeemed_at timestamptz,
    constraint invites_not_overdrawn check (max_uses is null or used_count <= max_uses)
  )`,
  'create index invites_created_by on invites (created_by)',
  `create table invite_redemptions (
    id bigint primary key,
    invite_id bigint not null references invites (id) on delete cascade,
    user_id bigint references users (id) on delete set null,
    registrant_username text not null,
    redeemed_at timestamptz not null default now()
  )`,
  'create index invite_redemptions_invite on invite_redemptions (invite_id, id)',
  'create index invite_redemptions_user on invite_redemptions (user_id)',
  `create table outbox (
    id bigint generated always as identity primary key,
    event_id uuid not null unique,
    subject text not null,
    payload jsonb not null,
    request_id text,
    created_at timestamptz not null default now()
  )`,
  `create table peers (
    id bigint primary key,
    origin text not null unique,
    host text not null,
    secret text not null,
    status text not null check (status in ('pending', 'active', 'revoked')),
    instance_name text,
    instance_id text,
    created_at timestamptz not null default now(),
    offered_at timestamptz,
    activated_at timestamptz,
    revoked_at timestamptz
  )`,
  `create table approval_requests (
    id bigint primary key,
    source_origin text not null,
    secret text not null,
    instance_name text,
    instance_id text,
    status text not null default 'pending' check (status in ('pending', 'approved', 'denied')),
    created_at timestamptz not null default now(),
    decided_at timestamptz,
    decided_by bigint references users (id) on delete set null
  )`,
  `create unique index approval_requests_one_pending on approval_requests (source_origin) where status = 'pending'`,
  'create index approval_requests_decided_by on approval_requests (decided_by)',
  `create table federation_nonces (
    origin text not null,
    nonce text not null,
    expires_at timestamptz not null,
    primary key (origin, nonce)
  )`,
  'create index federation_nonces_expiry on federation_nonces (expires_at)',
  `create table audit_log (
    id bigint generated always as identity primary key,
    action text not null,
    actor_id bigint references users (id) on delete set null,
    actor_username text,
    target_type text not null,
    target_id text,
    detail jsonb not null default '{}',
    created_at timestamptz not null default now()
  )`,
  'create index audit_log_actor on audit_log (actor_id)',
  `create table uploads (
    filename text primary key,
    user_id bigint not null references users (id) on delete cascade,
    size integer not null,
    mimetype text not null,
    created_at timestamptz not null default now(),
    claimed_at timestamptz
  )`,
  'create index uploads_user on uploads (user_id)',
  'create index uploads_unclaimed on uploads (created_at) where claimed_at is null',
  `create table file_removals (
    id bigint generated always as identity primary key,
    filename text not null,
    created_at timestamptz not null default now()
  )`,
  `create table session_nodes (
    id uuid primary key,
    seen_at timestamptz not null default now()
  )`,
  `create table presences (
    user_id bigint not null references users (id) on delete cascade,
    node_id uuid not null references session_nodes (id) on delete cascade,
    primary key (user_id, node_id)
  )`,
  'create index presences_node on presences (node_id)',
  'create sequence presence_versions',
]
