/**
 * Earlier peers count as decided by an admin. The active ones rotate their secrets in 90 days.
 * Contract: 7, as a whole; docs/decisions/peering.md.
 */
export const federation = [
  'alter table peers drop constraint peers_status_check',
  `alter table peers
    add constraint peers_status_check check (status in ('pending', 'awaiting_approval', 'active', 'unreachable',
      'needs_attention', 'rejected', 'revoked')),
    add column reason text,
    add column admin_decided boolean not null default true,
    add column approval_token_hash text,
    add column presented_token text,
    add column attempts integer not null default 0,
    add column next_attempt_at timestamptz,
    add column expires_at timestamptz,
    add column failed_deliveries integer not null default 0,
    add column refused_deliveries integer not null default 0,
    add column next_secret text,
    add column previous_secret text,
    add column previous_secret_until timestamptz,
    add column rotated_at timestamptz,
    add column next_rotation_at timestamptz,
    add column auto_rotate_interval_days integer not null default 90
      check (auto_rotate_interval_days between 1 and 365),
    add column profile_checkpoint bigint not null default 0`,
  'create index peers_due on peers (next_attempt_at) where next_attempt_at is not null',
  'create index peers_rotation_due on peers (next_rotation_at) where next_rotation_at is not null',
  'create index peers_host on peers (host)',
  `update peers set rotated_at = activated_at, next_rotation_at = now() + interval '90 days' where status = 'active'`,
  `update peers set expires_at = now() + interval '30 days' where status = 'pending'`,
  'alter table approval_requests drop constraint approval_requests_status_check',
  `alter table approval_requests
    add constraint approval_requests_status_check check (status in ('unproven', 'pending', 'approved', 'denied',
      'expired')),
    alter column secret drop not null,
    add column direction text not null default 'inbound' check (direction in ('inbound', 'outbound')),
    add column approval_token text,
    add column requested_by bigint references users (id) on delete set null,
    add column expires_at timestamptz not null default now() + interval '30 days',
    add column attempts integer not null default 0,
    add column next_attempt_at timestamptz`,
  'create index approval_requests_requested_by on approval_requests (requested_by)',
  'drop index approval_requests_one_pending',
  `create unique index approval_requests_one_open on approval_requests (source_origin, direction, status)
    where status in ('pending', 'unproven')`,
  `create index approval_requests_due on approval_requests (next_attempt_at) where next_attempt_at is not null`,
  `create table peer_resets (
    origin text primary key,
    host text not null,
    instance_id text not null,
    new_instance_id text,
    attempts integer not null default 0,
    next_attempt_at timestamptz
  )`,
  `create table attach_proofs (
    token_hash text primary key,
    user_id bigint not null references users (id) on delete cascade,
    target_domain text not null,
    expires_at timestamptz not null
  )`,
  'create index attach_proofs_user on attach_proofs (user_id)',
  'create index attach_proofs_expiry on attach_proofs (expires_at)',
  `create table federation_deliveries (
    peer_id bigint not null references peers (id) on delete cascade,
    user_id bigint not null references users (id) on delete cascade,
    version bigint not null,
    attempts integer not null default 0,
    next_attempt_at timestamptz not null,
    expires_at timestamptz not null,
    primary key (peer_id, user_id)
  )`,
  'create index federation_deliveries_due on federation_deliveries (next_attempt_at)',
  'create index federation_deliveries_user on federation_deliveries (user_id)',
]
