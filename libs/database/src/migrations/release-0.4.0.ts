/** The statements of each migration by its name, in their order. They are only ever added. */
export const release040 = {
  /** The logo stays when the admin goes who uploaded it. Contract: 5, Settings. */
  Migration20261206InstanceProfile: [
    `alter table instance_settings add column description text, add column rules text, add column accent_color text,
      add column logo text`,
    'alter table uploads alter column user_id drop not null',
  ],
  /** What the home of an account decided, and what peers are told. Contract: 7, Account states. */
  Migration20261207AccountStates: [
    `alter table users add column suspension_changed_at bigint, add column home_suspended_at bigint,
      add column home_state_at bigint`,
    'drop index users_suspended',
    `create index users_suspended on users (created_at, id)
      where suspended_at is not null or home_suspended_at is not null`,
    `create table profile_askers (
      user_id bigint not null references users (id) on delete cascade,
      peer_id bigint not null references peers (id) on delete cascade,
      primary key (user_id, peer_id)
    )`,
    'create index profile_askers_peer on profile_askers (peer_id)',
  ],
  /** A link ends with the authority of who made it. Contract: 3, recover. */
  Migration20261208RecoveryMaker: [
    'alter table users add column recovery_admin_id bigint, add column recovery_token_issued_at bigint',
  ],
  /** A peer that is forgotten and peered with anew is another row, and still holds what it asked for. Contract: 7, Account states. */
  Migration20261208AskersByOrigin: [
    'alter table profile_askers add column origin text',
    'update profile_askers set origin = peers.origin from peers where peers.id = peer_id',
    'alter table profile_askers drop column peer_id, alter column origin set not null, add primary key (user_id, origin)',
  ],
  /** Read by each signed request of a peer and by each login that a home confirms. */
  Migration20261208ResetsByHost: ['create index peer_resets_host on peer_resets (host)'],
  /** Reserved names are in the settings, a row that each registration reads anyway. Contract: 5, Settings. */
  Migration20261209ReservedUsernames: [
    `alter table instance_settings add column reserved_usernames jsonb not null default '[]'`,
  ],
  /** States, cookies and tickets are hashes: a copy of the database logs nobody in. Contract: 3, Identity providers. */
  Migration20261210IdentityProviders: [
    'alter table users add column has_password boolean not null default true',
    `create table linked_identities (
      id bigint primary key,
      user_id bigint not null references users (id) on delete cascade,
      provider text not null,
      issuer text not null,
      subject text not null,
      name text,
      linked_at timestamptz not null,
      last_used_at timestamptz,
      constraint linked_identities_issuer_subject unique (issuer, subject)
    )`,
    'create index linked_identities_user on linked_identities (user_id)',
    `create table provider_flows (
      state_hash text primary key,
      cookie_hash text not null,
      provider text not null,
      issuer text not null,
      purpose text not null,
      user_id bigint references users (id) on delete cascade,
      nonce text not null,
      code_verifier text not null,
      redirect text,
      created_at timestamptz not null,
      expires_at timestamptz not null
    )`,
    'create index provider_flows_expiry on provider_flows (expires_at)',
    'create index provider_flows_user on provider_flows (user_id) where user_id is not null',
    `create table provider_tickets (
      hash text primary key,
      provider text not null,
      issuer text not null,
      subject text not null,
      purpose text not null,
      user_id bigint references users (id) on delete cascade,
      claims jsonb not null,
      auth_time timestamptz,
      expires_at timestamptz not null
    )`,
    'create index provider_tickets_expiry on provider_tickets (expires_at)',
    'create index provider_tickets_user on provider_tickets (user_id) where user_id is not null',
    'create index provider_tickets_identity on provider_tickets (issuer, subject)',
    `create table logout_tokens (
      issuer text not null,
      jti text not null,
      expires_at timestamptz not null,
      primary key (issuer, jti)
    )`,
    'create index logout_tokens_expiry on logout_tokens (expires_at)',
  ],
  /** Most columns are nullable because an approved registration keeps only its receipt. Contract: 3, Approval. */
  Migration20261211Registrations: [
    `alter table instance_settings add column approval_required boolean not null default false,
      add column ask_reason boolean not null default false, add column denial_block_hours integer not null default 24`,
    `create table registrations (
      id bigint primary key,
      receipt_hash text not null constraint registrations_receipt_unique unique,
      created_at timestamptz not null,
      user_id bigint constraint registrations_user_unique unique references users (id) on delete cascade,
      username text constraint registrations_username_unique unique,
      password_hash text,
      display_name text,
      avatar_color text,
      reason text,
      network text,
      client text,
      provider text,
      issuer text,
      subject text,
      identity_name text,
      denied_at timestamptz,
      constraint registrations_identity_unique unique (issuer, subject)
    )`,
    'create index registrations_waiting on registrations (id) where username is not null',
    'create index registrations_created on registrations (created_at)',
    'create index registrations_denied on registrations (denied_at) where denied_at is not null',
    `create table blocked_networks (
      registration_id bigint primary key,
      network text not null,
      until timestamptz not null
    )`,
    'create index blocked_networks_network on blocked_networks (network, until)',
    'create index blocked_networks_until on blocked_networks (until)',
  ],
  /** The table of used logout tokens takes used proofs too, so its names become general. Contract: 3, Proof of work. */
  Migration20261211ProofOfWork: [
    `alter table instance_settings add column proof_of_work text not null default 'off'`,
    'alter table logout_tokens rename to used_tokens',
    'alter table used_tokens rename column jti to token',
    'alter index logout_tokens_pkey rename to used_tokens_pkey',
    'alter index logout_tokens_expiry rename to used_tokens_expiry',
  ],
  /** `invites_of_members` leaves out what an account created as an admin. Contract: 4, Invites of members. */
  Migration20261212MemberInvites: [
    'alter table instance_settings add column member_invites integer not null default 0',
    'alter table invites add column by_member boolean not null default false',
    'create index invites_creator on invites (created_by, id)',
    'drop index invites_created_by',
    'create index invites_of_members on invites (created_by, id) where by_member',
  ],
  /** A recovery request keeps what was typed: no account is looked up before the response. Contract: 3, Mail. */
  Migration20261214Mail: [
    `create table emails (
      user_id bigint primary key references users (id) on delete cascade,
      address text,
      key text,
      language text not null default 'en',
      notices boolean not null default true,
      confirmed_at timestamptz,
      bounced_at timestamptz,
      link_hash text constraint emails_link_hash_unique unique,
      link_expires_at timestamptz
    )`,
    'create index emails_key on emails (key) where confirmed_at is not null',
    `create table mails (
      id bigint primary key default next_snowflake(),
      message_id text not null default gen_random_uuid()::text,
      user_id bigint,
      kind text not null,
      address text not null,
      key text not null,
      language text not null,
      data jsonb not null,
      secret text,
      attempts integer not null default 0,
      created_at timestamptz not null,
      tried_at timestamptz,
      next_at timestamptz,
      expires_at timestamptz not null
    )`,
    'create index mails_due on mails (next_at) where next_at is not null',
    'create index mails_tried on mails (tried_at)',
    'create index mails_key on mails (key, tried_at)',
    'create index mails_user on mails (user_id) where user_id is not null',
    'create index mails_expiry on mails (expires_at)',
    `create table recovery_requests (
      id bigint primary key default next_snowflake(),
      asked jsonb not null,
      created_at timestamptz not null
    )`,
  ],
  /** Ids of codes and tokens are stored as hashes: a copy of the database holds none. Contract: 3, Applications. */
  Migration20261215Openid: [
    'alter table instance_settings add column openid_enabled boolean not null default false',
    'alter table sign_ins add column logged_in_at timestamptz',
    `create table applications (
      id bigint primary key,
      name text not null,
      type text not null,
      redirect_uris jsonb not null,
      post_logout_redirect_uris jsonb not null,
      backchannel_logout_uri text,
      signals_uri text,
      skip_consent boolean not null,
      access_tokens text not null,
      device_grant boolean not null default false,
      sector text,
      secret_hash text,
      previous_secret_hash text,
      previous_secret_until timestamptz,
      suspended_at timestamptz,
      created_at timestamptz not null,
      created_by bigint
    )`,
    `create table openid_rows (
      model text not null,
      id_hash text not null,
      payload jsonb not null,
      grant_id text,
      account_id bigint,
      application_id bigint,
      token_issued_at bigint,
      uid text,
      user_code_hash text,
      consumed_at timestamptz,
      created_at timestamptz not null,
      expires_at timestamptz not null,
      primary key (model, id_hash)
    )`,
    'create index openid_rows_grant on openid_rows (grant_id) where grant_id is not null',
    'create index openid_rows_account on openid_rows (account_id, application_id, created_at) where account_id is not null',
    'create index openid_rows_application on openid_rows (application_id) where application_id is not null',
    'create index openid_rows_uid on openid_rows (uid) where uid is not null',
    'create index openid_rows_user_code on openid_rows (user_code_hash) where user_code_hash is not null',
    'create index openid_rows_expiry on openid_rows (expires_at)',
    `create table openid_keys (
      kid text primary key,
      algorithm text not null,
      private_key text not null,
      created_at timestamptz not null,
      signs_from timestamptz not null,
      retired_at timestamptz
    )`,
    `create table application_consents (
      account_id bigint not null,
      application_id bigint not null,
      scopes jsonb not null,
      granted_at timestamptz not null,
      last_used_at timestamptz,
      primary key (account_id, application_id)
    )`,
    'create index application_consents_application on application_consents (application_id)',
    `create table application_notices (
      id bigint primary key default next_snowflake(),
      application_id bigint not null,
      channel text not null,
      event_id text not null,
      event jsonb not null,
      attempts integer not null default 0,
      created_at timestamptz not null,
      sent_at timestamptz,
      expires_at timestamptz not null,
      constraint application_notices_once unique (application_id, channel, event_id)
    )`,
    `create index application_notices_order on application_notices (application_id, channel, created_at, id)
      where sent_at is null`,
    'create index application_notices_expiry on application_notices (expires_at)',
    `create table application_receivers (
      application_id bigint not null,
      channel text not null,
      next_at timestamptz,
      leased_until timestamptz,
      last_delivered_at timestamptz,
      failing_since timestamptz,
      last_error text,
      primary key (application_id, channel)
    )`,
  ],
  /**
   * Of the names of an account: each three characters in a row, and the first one and two of each word, after a line break. An
   * index of a list needs no extension. What a letter is, and its lower case, do not depend on the locale. Contract: 5, Users.
   */
  Migration20261216NamesOfUsers: [
    'drop index if exists users_names',
    `do $do$ begin execute format($sql$
      create function fold_names(username text, display_name text) returns text language sql immutable parallel safe
        return lower((chr(10) || username || chr(10) || coalesce(display_name, '')) collate %1$I);
      create function starts_word(names text, pattern text) returns boolean language sql immutable parallel safe
        return names collate %1$I ~ ('[^[:alnum:]]' || pattern);
      create function parts_of_names(names text) returns text[] language plpgsql immutable strict parallel safe as $$
      declare
        chars text[] := string_to_array(names, null);
        letters text[] := string_to_array(regexp_replace(names collate %1$I, '[^[:alnum:]]', chr(10), 'g'), null);
        parts text[] := '{}';
      begin
        for at in 1 .. cardinality(chars) - 1 loop
          if letters[at] = chr(10) then
            parts := parts || (chr(10) || chars[at + 1]) || (chr(10) || chars[at + 1] || coalesce(chars[at + 2], ''));
          end if;
          parts := parts || (chars[at] || chars[at + 1] || coalesce(chars[at + 2], ''));
        end loop;
        return parts;
      end $$
    $sql$, (select collname from pg_collation
      where collname in ('pg_c_utf8', 'und-x-icu', 'default') and collnamespace = 'pg_catalog'::regnamespace
        and collencoding in (-1, pg_char_to_encoding(getdatabaseencoding()))
      order by array_position(array['pg_c_utf8', 'und-x-icu', 'default'], collname::text) limit 1)); end $do$`,
    'create index users_names on users using gin (parts_of_names(fold_names(username, display_name)))',
    `create index registrations_texts on registrations using gin (parts_of_names(fold_names(username,
      coalesce(display_name, '') || chr(10) || coalesce(reason, '') || chr(10) || coalesce(network, ''))))
      where username is not null`,
  ],
}
