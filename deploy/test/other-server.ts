import { DatabaseSync, type SQLInputValue } from 'node:sqlite'

/** The tables of the other chat server, by the description of its format; only names count there, no types. */
const tables: Record<string, string> = {
  __drizzle_migrations: 'id, hash, created_at',
  users: `id primary key, username, display_name, password_hash, avatar, banner, status, custom_status, bio, accent_color,
    avatar_color, is_admin, is_deleted, home_instance, home_user_id, replicated_instances, discoverable, show_activity,
    profile_updated_at, password_changed_at, federation_home_orphaned, federation_heal_pending, created_at`,
  instance_settings: `id primary key, instance_id, worker_id, instance_name, registration_open,
    federated_registration_open, auto_accept_peering`,
  invite_links: 'id primary key, token, name, created_by, created_at, expires_at, revoked_at, max_uses, used_count',
  invite_redemptions: 'id primary key, invite_id, user_id, registrant_username, redeemed_at',
  federation_peers: `id primary key, origin, hmac_secret, pending_hmac_secret, status, instance_name, peer_instance_id,
    needs_attention_reason, auto_rotate_interval_days, created_at`,
  peer_approval_requests: 'id primary key, origin, hmac_secret, direction, instance_name, requested_at, expires_at',
  federation_outbox: 'id primary key, payload',
  spaces: 'id primary key, name, owner_id, icon',
  space_members: 'space_id, user_id, joined_at',
  roles: 'id primary key, space_id, name, permissions',
  member_roles: 'space_id, user_id, role_id',
  channels: 'id primary key, space_id, name, type',
  channel_overrides: 'channel_id, target_type, target_id, allow, deny',
  messages: 'id primary key, channel_id, user_id, content, created_at',
  attachments: 'id primary key, message_id, dm_message_id, filename, original_name',
  embeds: 'id primary key, message_id, dm_message_id, url',
  reactions: 'id primary key, message_id, user_id, emoji',
  bans: 'space_id, user_id, reason, banned_by',
  join_requests: 'id primary key, space_id, user_id, status, decided_by',
  voice_restrictions: 'space_id, user_id, restriction_type, moderator_id',
  friends: 'user_id, friend_id, created_at',
  friend_requests: 'id primary key, from_id, to_id, status, created_at',
  read_states: 'user_id, channel_id, last_read_message_id',
  space_folders: 'id primary key, user_id, name, position',
  dm_channels: 'id primary key, owner_id, name, deleted_at, created_at',
  dm_members: 'dm_channel_id, user_id',
  dm_messages: 'id primary key, dm_channel_id, user_id, type, content, created_at',
  dm_reactions: 'id primary key, dm_message_id, user_id, emoji',
}

export const newestVersion = 1_791_414_124_908

/** What the second generation renamed, and added. deploy/importer/README.md. */
const ofSecondGeneration: Record<string, string> = {
  users: `${tables['users']}, last_active_day, last_client, chosen_status, detached_home_instance, detached_home_user_id`,
  federation_peers: `${tables['federation_peers']!.replace('needs_attention_reason', 'status_reason')}, initiated_by`,
  user_federation_credentials: 'user_id, origin, secret, created_at, provisioned_at',
  // Of a chat, its directory and its queues, which nothing here reads.
  instance_settings: `${tables['instance_settings']}, directory_enabled, support_card_enabled, ledger_started_at`,
  spaces: `${tables['spaces']}, directory_listed`,
  dm_members: `${tables['dm_members']}, closed_changed_at`,
  federation_outbox: `${tables['federation_outbox']}, reason, target, queue_key, offered_at`,
  federation_sync_cursors: 'origin, context_type, checkpoint, checkpoint_id',
  notification_settings: 'user_id, scope, level',
}

type Rows = Record<string, Record<string, SQLInputValue>[]>

/** Writes a database of the other chat server with these rows. */
export function writeOtherDatabase(
  file: string,
  rows: Rows,
  { version = newestVersion, without = [] as string[], isSecond = false } = {},
): void {
  const database = new DatabaseSync(file)
  for (const [name, columns] of Object.entries({ ...tables, ...(isSecond && ofSecondGeneration) })) {
    if (!without.includes(name)) database.exec(`create table ${name} (${columns})`)
  }
  const insert = (table: string, row: Record<string, SQLInputValue>) => {
    const names = Object.keys(row)
    const sql = `insert into ${table} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`
    database.prepare(sql).run(...Object.values(row))
  }
  insert('__drizzle_migrations', { created_at: version })
  for (const [table, all] of Object.entries(rows)) for (const row of all) insert(table, row)
  database.close()
}
