const hostsOf = (lists: string) => String.raw`
  select distinct left(named[1], 253) from regexp_matches(lower(${lists}),
    '"origin": *"https?://(\[[0-9a-f:.]+\]|[^]/:?#@"\\[:space:]]+)', 'g') named`

/** The statements of each migration by its name, in their order. They are only ever added. */
export const release030 = {
  /** Accounts registered after a peer's reset are not those of the old instance. */
  Migration20261123PeerResets: ['alter table peer_resets add column seen_at timestamptz'],
  /** New entries of the audit log get ids like everything else; they are greater than those of the entries before. */
  Migration20261123AuditIds: [
    'alter table audit_log alter column id drop identity',
    'alter table audit_log alter column id set default next_snowflake()',
  ],
  /** NamesOfUsers has its index. */
  Migration20261123UserSearch: [],
  Migration20261123FederationCredentials: [
    `create table federation_credentials (
      user_id bigint not null references users (id) on delete cascade,
      origin text not null,
      secret text not null,
      created_at timestamptz not null,
      provisioned_at timestamptz,
      primary key (user_id, origin)
    )`,
  ],
  /** The index serves the list of the suspended accounts. */
  Migration20261123Suspension: [
    'alter table users add column suspended_at bigint, add column suspended_reason text',
    'create index users_suspended on users (created_at, id) where suspended_at is not null',
  ],
  /** Triggers keep the table, because users and registries are written in many places, also by the release before. */
  Migration20261124ReplicaHosts: [
    `create table replica_hosts (
      host text not null,
      profile_updated_at bigint not null,
      user_id bigint not null,
      primary key (host, profile_updated_at, user_id)
    )`,
    'create index replica_hosts_user on replica_hosts (user_id)',
    `create function list_replica_hosts(person users, registry text) returns void language plpgsql as $$
    begin
      delete from replica_hosts where user_id = person.id;
      if person.profile_updated_at = 0 or person.home_instance is not null or person.is_deleted then return; end if;
      insert into replica_hosts (host, profile_updated_at, user_id)
      select host, person.profile_updated_at, person.id
      from (${hostsOf("person.replicated_instances || coalesce(registry, '')")}) hosts (host);
    end $$`,
    `create function list_hosts_of_user() returns trigger language plpgsql as $$
    begin
      perform list_replica_hosts(new, (select entries::text from federation_registries where user_id = new.id));
      return null;
    end $$`,
    `create function list_hosts_of_registry() returns trigger language plpgsql as $$
    declare person users;
    begin
      select * into person from users where id = coalesce(new.user_id, old.user_id);
      perform list_replica_hosts(person, new.entries::text);
      return null;
    end $$`,
    `create trigger users_replica_hosts after insert on users for each row
      when (new.profile_updated_at > 0 and new.replicated_instances <> '[]') execute function list_hosts_of_user()`,
    `create trigger users_replica_hosts_change
      after update of profile_updated_at, replicated_instances, home_instance, is_deleted on users for each row
      execute function list_hosts_of_user()`,
    `create trigger registries_replica_hosts after insert or delete or update of entries on federation_registries
      for each row execute function list_hosts_of_registry()`,
    `select count(list_replica_hosts(u, r.entries::text))
    from users u left join federation_registries r on r.user_id = u.id`,
  ],
  /** `changed` is the transaction: nodes read what their last snapshot did not show. Contract: 6, presence_update. */
  Migration20261125PresenceChanges: [
    `create table presence_changes (
      user_id bigint primary key references users (id) on delete cascade,
      changed xid8 not null default pg_current_xact_id(),
      node_id uuid not null
    )`,
    'create index presence_changes_changed on presence_changes (changed)',
  ],
  Migration20261126SecondFactors: [
    `alter table users
      add column second_factor boolean not null default false,
      add column second_factor_due boolean not null default false`,
    'alter table instance_settings add column require_second_factor_for_admins boolean not null default false',
    `create table second_factors (
      user_id bigint primary key references users (id) on delete cascade,
      secret text not null,
      created_at timestamptz not null,
      confirmed_at timestamptz,
      used_step bigint,
      recovery_codes jsonb not null default '[]',
      failures jsonb not null default '[]',
      blocked_until timestamptz
    )`,
  ],
  /** Shared by all replicas. Unlogged: a peer proves its network again by any signed request. Contract: 7, relay. */
  Migration20261126SigningNetworks: [
    `create unlogged table signing_networks (
      peer_id bigint not null references peers (id) on delete cascade,
      network text not null,
      ends_at timestamptz not null,
      primary key (peer_id, network)
    )`,
    'create index signing_networks_end on signing_networks (ends_at)',
  ],
  Migration20261126Recovery: ['alter table users add column recovery_hash text, add column recovery_expires_at bigint'],
  /** Entries get ids that tell their time, so that a range of time is a range of the key. Design: invariant 13. */
  Migration20261127AuditNames: [
    'alter table audit_log add column target_name text',
    `update audit_log set id =
      ((((extract(epoch from created_at) * 1000)::bigint - 1704067200000) << 22) | id)
    where id < 4194304 and created_at >= '2024-01-02T00:00:00Z'`,
    `update audit_log set target_name = case when is_deleted then 'Deleted User' else username end
    from users where target_type = 'user' and target_id = users.id::text`,
    `update audit_log set actor_username = 'Deleted User' from users where actor_id = users.id and is_deleted`,
    'create index audit_log_target on audit_log (target_id, id)',
    'create index audit_log_action on audit_log (action, id)',
    'create index audit_log_by_actor on audit_log (actor_id, id)',
    'drop index audit_log_actor',
  ],
  /** Whether a stub is upgraded where its home gives no answer. Contract: 7, Registration over a stub. */
  Migration20261128StubProofs: [
    'alter table instance_settings add column stub_upgrades_need_proof boolean not null default false',
  ],
  /** Used challenges are kept, so that each works once on any replica. Contract: 3, Passkeys. */
  Migration20261129Passkeys: [
    `create table passkeys (
      id bigint primary key,
      user_id bigint not null references users (id) on delete cascade,
      credential_id text not null constraint passkeys_credential_id_unique unique,
      public_key text not null,
      counter bigint not null,
      name text not null,
      created_at timestamptz not null,
      last_used_at timestamptz
    )`,
    'create index passkeys_user on passkeys (user_id)',
    'create table passkey_challenges (hash text primary key, expires_at timestamptz not null)',
  ],
  /** `sign_ins_time` finds what is older than 90 days in all accounts. Contract: 3, Sign-ins. */
  Migration20261130SignIns: [
    `create table sign_ins (
      user_id bigint not null references users (id) on delete cascade,
      id bigint not null default next_snowflake(),
      signed_in_at timestamptz not null,
      method text not null,
      network text not null,
      device text,
      primary key (user_id, id)
    )`,
    'create index sign_ins_time on sign_ins (signed_in_at)',
  ],
  Migration20261201DeletionOrders: [
    `create table deletion_orders (
      id bigint primary key default next_snowflake(),
      user_id bigint not null references users (id) on delete cascade,
      origin text not null,
      mode text not null,
      state text not null default 'waiting',
      error text,
      attempts integer not null default 0,
      given_at timestamptz not null,
      next_attempt_at timestamptz,
      ended_at timestamptz,
      receipt jsonb,
      constraint deletion_orders_user_origin unique (user_id, origin)
    )`,
    "create index deletion_orders_due on deletion_orders (next_attempt_at) where state in ('waiting')",
    "create index deletion_orders_due_at on deletion_orders (origin, next_attempt_at) where state in ('waiting')",
    "create index deletion_orders_open on deletion_orders (id) where state in ('waiting', 'overdue')",
  ],
  /** Whom people ask who cannot log in. Contract: 5, Settings. */
  Migration20261202Contact: ['alter table instance_settings add column contact text'],
  /** A process that stalled between the clock and its draw met a value of the next round. docs/decisions/state-in-postgres.md. */
  Migration20261203IdTimes: [
    `create or replace function next_snowflake() returns bigint language plpgsql volatile as $$
      declare
        ms bigint;
        drawn bigint;
      begin
        loop
          ms := floor(extract(epoch from clock_timestamp()) * 1000);
          drawn := nextval('snowflake_sequence');
          exit when ms = floor(extract(epoch from clock_timestamp()) * 1000);
        end loop;
        return ((ms - 1704067200000) << 22) | ((select worker_id from instance_settings where id = 1)::bigint << 12) | drawn;
      end $$`,
  ],
  /** What is due, what has expired, and the accounts of one home are found without reading the others. Design: invariant 13. */
  Migration20261204Growth: [
    'create index users_home on users (home_instance, created_at, id) include (is_deleted)',
    'create index users_home_identity on users (home_instance, home_user_id) where home_instance is not null',
    'create index approval_requests_expiry on approval_requests (expires_at)',
    'create index approval_requests_status on approval_requests (status, id)',
    'create index approval_requests_origin on approval_requests (source_origin)',
    'create index peers_status on peers (status, id)',
    'create index peers_expiry on peers (expires_at) where expires_at is not null',
    'create index peer_resets_due on peer_resets (next_attempt_at) where next_attempt_at is not null',
    'create index federation_deliveries_expiry on federation_deliveries (expires_at)',
    'create index passkey_challenges_expiry on passkey_challenges (expires_at)',
  ],
  /** A null version waits until somebody reads the changes, since only what is committed gets one. docs/decisions/upstreams.md */
  Migration20261205AccountVersions: [
    `create table account_versions (
      user_id bigint primary key references users (id) on delete cascade,
      version bigint constraint account_versions_version_unique unique
    )`,
    'insert into account_versions (user_id, version) select id, row_number() over (order by id) from users',
    'create index account_versions_waiting on account_versions (user_id) where version is null',
    `create function account_told() returns trigger language plpgsql as $$
    begin
      insert into account_versions (user_id) values (new.id)
      on conflict (user_id) do update set version = null where account_versions.version is not null;
      return null;
    end $$`,
    'create trigger users_versions after insert on users for each row execute function account_told()',
    `create trigger users_versions_change after update of username, display_name, avatar, is_deleted on users for each row
      when ((old.username, old.display_name, old.avatar, old.is_deleted)
        is distinct from (new.username, new.display_name, new.avatar, new.is_deleted))
      execute function account_told()`,
  ],
  /** The index finds a peer's overdue orders without the others. Contract: 5, Overview; 7, States of a peer. */
  Migration20261205Overview: [
    'alter table peers add column seen_at timestamptz, add column synced_at timestamptz',
    "create index deletion_orders_overdue on deletion_orders (origin) where state = 'overdue'",
  ],
  /** A row is deleted when its upstream responds with `done`. Contract: 5, Deletions at further services. */
  Migration20261205UpstreamDeletions: [
    `create table upstream_deletions (
      id bigint primary key default next_snowflake(),
      user_id bigint not null references users (id) on delete cascade,
      upstream text not null,
      mode text not null,
      error text,
      attempts integer not null default 0,
      given_at timestamptz not null,
      next_attempt_at timestamptz not null,
      constraint upstream_deletions_user_upstream unique (user_id, upstream)
    )`,
    'create index upstream_deletions_due on upstream_deletions (upstream, next_attempt_at)',
    'create index upstream_deletions_given on upstream_deletions (given_at)',
  ],
}
