import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { finished, pipeline } from 'node:stream/promises'
import type { Readable } from 'node:stream'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { CommandFailure } from '../failure.ts'
import { fillEmptyInstance } from '../fill-empty-instance.ts'
import type { ArchiveHeader, ArchiveManifest } from './format.ts'
import { readMembers, verifyArchive } from './read-archive.ts'
import { listMigrations, listTables, quote } from './tables.ts'

export type RestoreOptions = {
  file: string
  databaseUrl: string
  uploadDir: string
  beforeCommit?: () => Promise<void>
  progress(line: string): void
}

/** Verifies the archive, then restores it as `fillEmptyInstance` does. docs/operators.md, "Backup and restore". */
export async function restoreArchive(options: RestoreOptions): Promise<ArchiveManifest> {
  const { file, progress } = options
  progress('verifying the archive')
  const { header, manifest } = await verifyArchive(file)
  const filling = {
    ...options,
    kind: 'restore',
    check: (client: pg.Client) => requireSameSchema(client, header, manifest),
    fill: async (client: pg.Client, staging: string) => {
      await restoreMembers(client, options, { manifest, staging })
      await restoreSequences(client, manifest)
      await client.query(`update users set status = 'offline' where status <> 'offline'`)
      await options.beforeCommit?.()
    },
  } as const
  await fillEmptyInstance(filling)
  return manifest
}

async function requireSameSchema(client: pg.Client, header: ArchiveHeader, manifest: ArchiveManifest): Promise<void> {
  const own = await listMigrations(client)
  const known = new Map((await listTables(client)).map(({ name, columns }) => [name, new Set(columns)]))
  const isKnown = Object.entries(manifest.tables).every(([name, { columns }]) =>
    columns.every((column) => known.get(name)?.has(column)),
  )
  if (isKnown && own.toSorted().join() === header.migrations.toSorted().join()) return
  throw new CommandFailure(
    'refused',
    `the archive was made by version ${header.version}, whose schema differs: restore it with that version, then upgrade`,
  )
}

type Target = { manifest: ArchiveManifest; staging: string }

/** The archive has the tables in an order in which their rows can be inserted. */
async function restoreMembers(
  client: pg.Client,
  { file, progress }: RestoreOptions,
  { manifest, staging }: Target,
): Promise<void> {
  await client.query(`truncate ${Object.keys(manifest.tables).map(quote).join(', ')} cascade`)
  let current: { table: string; sink: ReturnType<typeof copyFrom>; ended: Promise<void> } | undefined
  const begin = (table: string) => {
    const columns = manifest.tables[table]?.columns.map(quote).join(', ')
    const sink = client.query(copyFrom(`copy ${quote(table)} (${columns}) from stdin`))
    const ended = finished(sink)
    ended.catch(() => undefined) // it is awaited at the end of the table
    return { table, sink, ended }
  }
  const finish = async () => {
    if (!current) return
    const { table, sink, ended } = current
    current = undefined
    sink.end()
    await ended
    progress(`${table}: ${sink.rowCount} rows`)
  }
  await readMembers(file, async (name, content) => {
    const [, table] = /^database\/([a-z_]+)\/\d+$/.exec(name) ?? []
    const [, upload] = /^uploads\/([A-Za-z0-9_-][A-Za-z0-9._-]{0,127})$/.exec(name) ?? []
    if (table !== current?.table) await finish()
    if (table !== undefined) {
      current ??= begin(table)
      await write(content, current.sink)
    } else if (upload !== undefined) {
      await pipeline(content, createWriteStream(join(staging, upload), { mode: 0o644, flags: 'wx' }))
    }
  })
  await finish()
}

async function write(content: Readable, sink: ReturnType<typeof copyFrom>): Promise<void> {
  for await (const chunk of content as AsyncIterable<Buffer>) {
    if (!sink.write(chunk)) await once(sink, 'drain')
  }
}

async function restoreSequences(client: pg.Client, { sequences }: ArchiveManifest): Promise<void> {
  for (const [name, { value, isCalled }] of Object.entries(sequences)) {
    await client.query('select setval($1::regclass, $2::bigint, $3)', [quote(name), value, isCalled])
  }
}
