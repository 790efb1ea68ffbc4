import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { connectDatabase, previousRelease } from '@gatehouse/database'
import { growDatabase, startEphemeralPostgres } from '@gatehouse/test-kit'
import pg from 'pg'
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

async function measureMigration(accounts: number): Promise<Command> {
  await using postgres = await startEphemeralPostgres({ settings: { max_wal_size: '4GB' } })
  {
    await using opening = new AsyncDisposableStack()
    const orm = opening.adopt(await connectDatabase({ url: postgres.url }), (open) => open.close())
    await orm.migrator.up({ to: previousRelease.lastMigration })
    const client = opening.adopt(new pg.Client(postgres.url), (open) => open.end())
    await client.connect()
    await growDatabase(client, rowsAt(accounts))
  }
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
