import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { connectDatabase, previousRelease } from '@gatehouse/database'
import { growDatabase, startEphemeralPostgres } from '@gatehouse/test-kit'
import pg from 'pg'
import { listTables, quote } from '../../deploy/cli/archive/format.ts'
import { withoutIndexes } from '../../deploy/cli/archive/without-indexes.ts'
import { programArguments } from '../../tools/setup/build-programs.js'
import { createDataFolder, spawnNode } from '../embedded-instance.ts'
import { rowsAt } from './rows.ts'
import { writeSource } from './source.ts'

export type Command = { name: string; ms: number; peakBytes: number }

const lookMs = 20

/** Backup and restore of the stopped instance in `folder`, an import of as many accounts into a new one, and the migration from the release before. */
export async function measureCommands(folder: string, accounts: number): Promise<Command[]> {
  await using work = await createDataFolder()
  await using restored = await createDataFolder()
  await using imported = await createDataFolder()
  const [archive, secrets, passphrase, source] = ['archive.tar.gz', 'secrets', 'passphrase', 'other.db'].map((name) =>
    join(work.path, name),
  ) as [string, string, string, string]
  await writeFile(passphrase, 'a passphrase of the benchmark\n', { mode: 0o600 })
  const files = [archive, '--secrets', secrets, '--passphrase-file', passphrase]
  writeSource(source, accounts)
  return [
    await command(folder, ['backup', ...files]),
    await command(restored.path, ['restore', ...files]),
    await command(imported.path, ['import', source]),
    await measureMigration(accounts),
  ]
}

/** As those of an instance's own PostgreSQL. */
const ownSettings = { fsync: 'on', shared_buffers: '32MB', max_wal_size: '256MB', jit: 'off' }

/** PostgreSQL alone, with the rows of a restore in files of its own: milliseconds. What a restore takes beyond it is Gatehouse's. */
export async function measureBareRestore(accounts: number): Promise<number> {
  await using postgres = await startEphemeralPostgres({ settings: ownSettings })
  await using grown = await growSchema(postgres.url, accounts)
  const { client } = grown
  const { rows } = await client.query<{ folder: string }>(`select current_setting('data_directory') as folder`)
  const parts = (await listTables(client)).map(({ name, columns }) => ({
    table: `${quote(name)} (${columns.map(quote).join(', ')})`,
    file: `'${rows[0]!.folder}/${name}.copy'`,
  }))
  for (const { table, file } of parts) await client.query(`copy ${table} to ${file}`)
  const names = parts.map(({ table }) => table.split(' ')[0]).join(', ')
  const startedAt = performance.now()
  await client.query(`begin; truncate ${names} cascade`)
  await withoutIndexes(client, async () => {
    for (const { table, file } of parts) await client.query(`copy ${table} from ${file}`)
    await client.query(`analyze ${names}`)
  })
  await client.query('commit')
  return performance.now() - startedAt
}

/** `until`: the last migration, by default the newest. */
async function growSchema(url: string, accounts: number, until?: string) {
  await using opening = new AsyncDisposableStack()
  const orm = opening.adopt(await connectDatabase({ url }), (open) => open.close())
  await orm.migrator.up(until === undefined ? {} : { to: until })
  const client = opening.adopt(new pg.Client(url), (open) => open.end())
  await client.connect()
  await growDatabase(client, rowsAt(accounts))
  const open = opening.move()
  return { client, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

async function measureMigration(accounts: number): Promise<Command> {
  await using postgres = await startEphemeralPostgres({ settings: { max_wal_size: '4GB' } })
  const grown = await growSchema(postgres.url, accounts, previousRelease.lastMigration)
  await grown[Symbol.asyncDispose]()
  return await run('migration from the release before', ['deploy/migrate.ts'], { DATABASE_URL: postgres.url })
}

const command = (folder: string, args: string[]) =>
  run(args[0]!, ['deploy/cli/main.ts', '--yes', ...args], { GATEHOUSE_DATA: folder })

async function run(
  name: string,
  [program = '', ...args]: string[],
  variables: Record<string, string>,
): Promise<Command> {
  const startedAt = performance.now()
  const child = spawnNode([...programArguments(program), ...args], variables)
  const ended = once(child, 'exit')
  let peakBytes = 0
  while (child.exitCode === null && child.signalCode === null) {
    peakBytes = Math.max(peakBytes, await readPeak(child.pid!).catch(() => 0))
    await Promise.race([ended, pause(lookMs)])
  }
  if (child.exitCode !== 0) throw new Error(`${name} ended with ${child.exitCode ?? child.signalCode}`)
  return { name, ms: performance.now() - startedAt, peakBytes }
}

/** The most memory that a process has had, in bytes. Linux only. */
export async function readPeak(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024
}
