import type { Client } from 'pg'

type Column = { table: string; name: string; type: string; isNullable: boolean }

/** An instance has a limit of applications, and few keys. */
const ofApplications = ['applications', 'application_receivers', 'openid_keys']
/** They do not grow with accounts, peers, invites or time. */
const small = new Set(['instance_settings', 'mikro_orm_migrations', 'session_nodes', ...ofApplications])

const day = "interval '1 day'"
const later = `timestamptz '2100-01-01' + n * ${day} / 100`
const earlier = `timestamptz '2025-01-01' + n * ${day} / 1000`

/** SQL for the nth row, where the type and the name of a column do not say enough. */
const values: Readonly<Record<string, string>> = {
  'users.username': `'user' || n || case when n % 2 = 0 then '@h' || n % 20 || '.example' else '' end`,
  'users.home_instance': `case when n % 2 = 0 then 'h' || n % 20 || '.example' end`,
  'users.home_user_id': `case when n % 2 = 0 then n::text end`,
  'users.status': `case when n % 10 = 0 then 'online' else 'offline' end`,
  'users.replicated_instances': `'[]'`,
  'users.federation_home_orphaned': 'false',
  'users.former_home_instance': 'null::text',
  'users.former_home_user_id': 'null::text',
  'users.profile_updated_at': '1750000000000 + n',
  'account_versions.version': 'n',
  'application_notices.sent_at': `case when n % 100 > 0 then ${earlier} end`,
  'approval_requests.status': `case when n <= 10 then 'pending' else 'approved' end`,
  'approval_requests.direction': `'inbound'`,
  'channel_overrides.target_type': `'member'`,
  'deletion_orders.state': `case when n % 100 = 0 then 'waiting' else 'done' end`,
  'registrations.user_id': `case when n % 20 > 0 then n end`,
  'registrations.username': `case when n % 20 = 0 then 'wants' || n end`,
  'registrations.denied_at': 'null::timestamptz',
  'spaces.owner_id': '1',
  'invites.max_uses': 'null::int',
  'openid_rows.model': `(array['Grant', 'AccessToken', 'RefreshToken'])[n % 3 + 1]`,
  'openid_rows.payload': `'{}'`,
  'peers.status': `case when n <= 10 then 'unreachable' else 'active' end`,
  'peers.auto_rotate_interval_days': '90',
  'upstream_deletions.given_at': `case when n <= 10 then ${earlier} else ${later} end`,
  'uploads.claimed_at': `case when n % 100 > 0 then ${earlier} end`,
}
const due = /^(expires|ends|until|next_|blocked|previous_secret_until|seen_at)/

/**
 * Fills each table that grows with rows 1 to `rowsOf`: accounts of both kinds, few of them online, little that is due. The
 * client is the superuser's: foreign keys and triggers are not looked at. Statistics are fresh then.
 */
export async function growDatabase(client: Client, rowsOf: (table: string) => number): Promise<void> {
  await client.query(`set session_replication_role = replica; set synchronous_commit = off`)
  const columns = await readColumns(client)
  for (const [table, all] of Object.entries(Object.groupBy(columns, ({ table }) => table))) {
    if (!all || small.has(table)) continue
    const names = all.map(({ name }) => name).join(', ')
    const row = all.map(valueOf).join(', ')
    const rows = `select ${row} from generate_series(1, ${rowsOf(table)}) n`
    await client.query(`insert into ${table} (${names}) overriding system value ${rows} on conflict do nothing`)
  }
  await client.query('set session_replication_role = origin')
  await client.query('vacuum analyze')
}

async function readColumns(client: Client): Promise<Column[]> {
  const { rows } = await client.query<Column>(
    `select c.relname as "table", a.attname as name, format_type(a.atttypid, null) as type,
       not a.attnotnull as "isNullable"
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' order by c.relname, a.attnum`,
  )
  return rows
}

function valueOf({ table, name, type, isNullable }: Column): string {
  const own = values[`${table}.${name}`]
  if (own !== undefined) return own
  const value = ofType(name, type)
  // What most rows lack: decisions, revocations, suspensions, work that is due.
  return isNullable && (due.test(name) || !/_id$|_by$|created|url$/.test(name))
    ? `case when n % 20 = 0 then ${value} end`
    : value
}

function ofType(name: string, type: string): string {
  if (type === 'bigint' || type === 'integer' || type === 'xid8') {
    if (name === 'used_count' || name === 'attempts' || name === 'counter') return '0'
    return type === 'xid8' ? 'n::text::xid8' : 'n'
  }
  if (type === 'boolean') return 'n % 100 = 0'
  if (type === 'uuid') return 'gen_random_uuid()'
  if (type === 'jsonb') return `'[]'::jsonb`
  if (type.startsWith('timestamp')) return due.test(name) ? later : earlier
  return `'${name} ' || n`
}
