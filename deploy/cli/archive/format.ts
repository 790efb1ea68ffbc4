import type pg from 'pg'
import { z } from 'zod'

export const formatVersion = 1

export const archiveHeader = z.object({
  format: z.literal('gatehouse-backup'),
  formatVersion: z.number().int(),
  version: z.string(),
  createdAt: z.number(),
  migrations: z.array(z.string()),
})
export type ArchiveHeader = z.infer<typeof archiveHeader>

/** The last member. An archive without it was cut. */
export const archiveManifest = z.object({
  tables: z.record(z.string(), z.object({ columns: z.array(z.string()), rows: z.number().int() })),
  sequences: z.record(z.string(), z.object({ value: z.string(), isCalled: z.boolean() })),
  files: z.number().int(),
  /** Files that were gone when they were read. */
  missingFiles: z.number().int(),
  /** The SHA-256 of every other member. */
  checksums: z.record(z.string(), z.string()),
})
export type ArchiveManifest = z.infer<typeof archiveManifest>

export const memberNames = {
  header: 'header.json',
  manifest: 'manifest.json',
  /** Parts bound the memory that a table needs. */
  tablePart: (table: string, part: number) => `database/${table}/${String(part).padStart(8, '0')}`,
  upload: (name: string) => `uploads/${name}`,
}
export const partBytes = 4 * 1024 * 1024

/** Their rows mean nothing to another process, or are made again from others by triggers. */
export const volatileTables: ReadonlySet<string> = new Set([
  'session_nodes',
  'presences',
  'presence_changes',
  'federation_limits',
  'replica_hosts',
  'account_versions',
  'provider_flows',
  'provider_tickets',
  'mails',
  'recovery_requests',
  // A grant that has ended since must not come back.
  'openid_rows',
  'application_notices',
  'application_receivers',
])
const migrationTable = 'mikro_orm_migrations'

export type TableShape = { name: string; columns: string[] }

/** Each after the tables that it refers to. */
export async function listTables(client: pg.ClientBase): Promise<TableShape[]> {
  const columns = await client.query<TableShape>(
    `select c.table_name as name, array_agg(c.column_name::text order by c.ordinal_position) as columns
     from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = current_schema() and t.table_type = 'BASE TABLE' and c.is_generated = 'NEVER' group by 1 order by 1`,
  )
  const references = await client.query<{ from: string; to: string }>(
    `select distinct conrelid::regclass::text as from, confrelid::regclass::text as to
     from pg_constraint where contype = 'f' and conrelid <> confrelid and connamespace = current_schema()::regnamespace`,
  )
  const lasting = columns.rows.filter(({ name }) => name !== migrationTable && !volatileTables.has(name))
  const ordered = new Set<TableShape>()
  function visit(table: TableShape, above: readonly string[]): void {
    if (ordered.has(table) || above.includes(table.name)) return
    const targets = references.rows.filter(({ from }) => from === table.name).map(({ to }) => to)
    for (const target of lasting) if (targets.includes(target.name)) visit(target, [...above, table.name])
    ordered.add(table)
  }
  for (const table of lasting) visit(table, [])
  return [...ordered]
}

export async function listMigrations(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(`select name from ${migrationTable} order by name`)
  return rows.map(({ name }) => name)
}

export async function readSequences(client: pg.ClientBase): Promise<ArchiveManifest['sequences']> {
  const { rows } = await client.query<{ name: string }>(
    'select sequencename as name from pg_sequences where schemaname = current_schema() order by 1',
  )
  const sequences: ArchiveManifest['sequences'] = {}
  for (const { name } of rows) {
    const state = await client.query<{ value: string; isCalled: boolean }>(
      `select last_value::text as value, is_called as "isCalled" from ${quote(name)}`,
    )
    if (state.rows[0] && !name.startsWith(migrationTable)) sequences[name] = state.rows[0]
  }
  return sequences
}

export const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`
