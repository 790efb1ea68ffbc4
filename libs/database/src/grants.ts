import type { EntityManager } from '@mikro-orm/postgresql'
import { databaseServices, listServicesWithoutRole, roleOf, type DatabaseService } from './roles.ts'

type Grants = {
  /** Privileges by table: `select (id), update (status)`. `(all but x)` covers later columns too. */
  tables: Readonly<Record<string, string>>
  sequences: readonly string[]
  /** Of its events in the outbox, the only ones that it sees there. */
  outbox?: readonly string[]
}

/** A row lock needs UPDATE of one column. This one changes only who seems online. */
const lockUsers = 'update (status)'

const newIds = { sequences: ['snowflake_sequence'] }

/** The relay uses `for update skip locked`. */
const outbox = { outbox: 'select, insert, update (id), delete' }

const writeAuditLog = { audit_log: 'select (id), insert' }

const allow = (privileges: string, ...tables: string[]): Grants['tables'] =>
  Object.fromEntries(tables.map((table) => [table, privileges]))

const all = 'select, insert, update, delete'

/**
 * A query without its grant fails with `permission denied`. An older release runs during an upgrade: remove a grant one
 * release after its last use. Held by deploy/test/least-privilege.test.ts. docs/decisions/database-roles.md.
 */
export const grants: Readonly<Record<DatabaseService, Grants>> = {
  identity: {
    ...newIds,
    outbox: [
      'event.user.',
      'event.invite.redeemed.',
      'event.invite.revoked.',
      'event.registration.',
      'event.instance.settings-changed.',
    ],
    tables: {
      ...outbox,
      ...allow('select, insert, update', 'users', 'account_versions', 'federation_limits'),
      ...allow('select, update', 'instance_settings', 'invites'),
      ...allow('select, insert', 'invite_redemptions'),
      audit_log: 'select, insert, update (actor_username, target_name), delete',
      ...allow(all, 'uploads', 'second_factors', 'passkeys', 'passkey_challenges'),
      ...allow(all, 'linked_identities', 'provider_flows', 'provider_tickets', 'used_tokens'),
      ...allow(all, 'registrations', 'blocked_networks'),
      ...allow(all, 'emails', 'mails', 'recovery_requests'),
      ...allow(all, 'federation_registries', 'federation_credentials', 'attach_proofs'),
      ...allow(all, 'deletion_orders', 'upstream_deletions'),
      // Of a deletion and an export.
      openid_rows: 'select (account_id), delete',
      application_consents: 'select',
      applications: 'select (id, name)',
      ...allow('select, insert, update (id), delete', 'file_removals', 'sign_ins'),
      replica_hosts: 'select, insert, delete',
      peer_resets: 'select (host, new_instance_id, seen_at)',
      peers: 'select (id, host, origin, status)',
      profile_askers: 'select, delete',
      // With `on conflict`, which reads what it would have inserted.
      federation_deliveries: `select (peer_id, user_id, version, next_attempt_at, expires_at), insert,
        update (version, attempts, next_attempt_at, expires_at)`,
      approval_requests: 'select (status)',
      presences: 'select, delete',
      // Tables of chat: for deletion and for a stub's takeover.
      spaces: 'select',
      channels: 'select (id, space_id, name)',
      ...allow('select, update (user_id), delete', 'space_members', 'role_assignments', 'dm_members'),
      ...allow('select, update (user_id), delete', 'read_states', 'space_folders'),
      channel_overrides: 'select, update (target_id), delete',
      ...allow('select, update (author_id), delete', 'messages', 'dm_messages'),
      ...allow('select, delete', 'message_attachments', 'message_embeds', 'dm_attachments'),
      ...allow('select, update (emoji, user_id), delete', 'message_reactions', 'dm_reactions'),
      bans: 'select, update (banned_by, user_id), delete',
      join_requests: 'select, update (decided_by, user_id), delete',
      voice_restrictions: 'select, update (moderator_id, user_id), delete',
      friendships: 'select, update (created_at, user_id, friend_id), delete',
      friend_requests: 'select, update (created_at, from_user_id, to_user_id), delete',
      dm_channels: 'select, update (owner_id), delete',
    },
  },
  invite: {
    ...newIds,
    outbox: ['event.invite.'],
    tables: {
      ...outbox,
      ...writeAuditLog,
      users: `select (id, username, home_instance, is_deleted, is_admin, password_changed_at, second_factor_due),
        ${lockUsers}`,
      instance_settings: 'select (id, worker_id, member_invites)',
      invites: all,
      invite_redemptions: 'select',
    },
  },
  'session-gateway': {
    // 0.3.0 numbers its changes.
    sequences: ['presence_versions'],
    tables: {
      users: 'select (all but password_hash), update (status)',
      presences: 'select, insert, delete',
      presence_changes: 'select, insert, update (changed, node_id)',
      session_nodes: 'select, insert, update (seen_at), delete',
      instance_settings: 'select (instance_id, instance_name)',
      friendships: 'select (user_id, friend_id)',
      dm_members: 'select (user_id, channel_id)',
      space_members: 'select (user_id, space_id)',
      peers: 'select (id, origin, status)',
      approval_requests: 'select (status)',
    },
  },
  'federation-fanout': {
    ...newIds,
    outbox: ['event.instance.peer-changed.'],
    tables: {
      ...outbox,
      ...writeAuditLog,
      users: `select (all but password_hash), ${lockUsers}`,
      ...allow(all, 'peers', 'peer_resets', 'approval_requests'),
      ...allow(all, 'federation_deliveries', 'federation_limits', 'signing_networks'),
      federation_nonces: 'select, insert, update (expires_at), delete',
      ...allow('select', 'instance_settings', 'federation_registries', 'replica_hosts'),
      profile_askers: 'select, insert',
      attach_proofs: 'select, delete',
      deletion_orders: 'select (origin, state)',
    },
  },
  openid: {
    ...newIds,
    tables: {
      ...writeAuditLog,
      users: `select (id, username, display_name, avatar, home_instance, is_deleted, is_admin, suspended_at,
        password_changed_at, second_factor_due, profile_updated_at), ${lockUsers}`,
      instance_settings: 'select (id, worker_id, openid_enabled)',
      ...allow(all, 'applications', 'openid_rows', 'openid_keys', 'application_consents'),
      ...allow(all, 'application_notices', 'application_receivers'),
      sign_ins: 'select (user_id, signed_in_at, method, logged_in_at)',
      federation_limits: 'select, insert, update',
    },
  },
}

const ofEveryService = { mikro_orm_migrations: 'select' }

/** Replaces all privileges, as the owner of the schema. Missing roles and tables are skipped. */
export async function applyGrants(em: EntityManager): Promise<void> {
  const servicesWithoutRole = await listServicesWithoutRole(em)
  const tables = new Set(await namesOf(em, "select tablename as name from pg_tables where schemaname = 'public'"))
  for (const service of databaseServices) {
    if (servicesWithoutRole.includes(service)) continue
    const role = roleOf(service)
    const statements = [
      `revoke all on all tables in schema public from ${role}`,
      `revoke all on all sequences in schema public from ${role}`,
      ...grants[service].sequences.map((sequence) => `grant usage on sequence ${sequence} to ${role}`),
    ]
    for (const [table, privileges] of Object.entries({ ...ofEveryService, ...grants[service].tables })) {
      if (!tables.has(table)) continue
      statements.push(`grant ${await expandColumns(em, table, privileges)} on ${table} to ${role}`)
    }
    if (tables.has('outbox')) statements.push(...(await outboxPolicy(em, role, grants[service].outbox ?? [])))
    await em.execute(statements.join(';\n'))
  }
}

/** Identity would publish others' rows as its own. docs/decisions/database-roles.md. */
async function outboxPolicy(em: EntityManager, role: string, subjects: readonly string[]): Promise<string[]> {
  const own = subjects.map((prefix) => `starts_with(subject, '${prefix}')`).join(' or ')
  const sql = `select obj_description(oid, 'pg_policy') as name from pg_policy
    where polrelid = 'outbox'::regclass and polname = ?`
  const [present] = await namesOf(em, sql, [role])
  if (present === (own ? subjects.join(' ') : undefined)) return []
  const secured = ['alter table outbox enable row level security', `drop policy if exists ${role} on outbox`]
  if (!own) return secured
  return [
    ...secured,
    `create policy ${role} on outbox to ${role} using (${own}) with check (${own})`,
    `comment on policy ${role} on outbox is '${subjects.join(' ')}'`,
  ]
}

const allBut = /\(all but (\w+)\)/

async function expandColumns(em: EntityManager, table: string, privileges: string): Promise<string> {
  const [, excluded] = allBut.exec(privileges) ?? []
  if (excluded === undefined) return privileges
  const sql = `select quote_ident(attname) as name from pg_attribute
    where attrelid = ?::regclass and attnum > 0 and not attisdropped and attname <> ? order by attnum`
  const columns = await namesOf(em, sql, [table, excluded])
  return privileges.replace(allBut, `(${columns.join(', ')})`)
}

async function namesOf(em: EntityManager, sql: string, parameters: unknown[] = []): Promise<string[]> {
  const rows = await em.execute<{ name: string }[]>(sql, parameters)
  return rows.map(({ name }) => name)
}
