import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { programArguments } from '../../tools/setup/build-programs.js'
import { createDataFolder, spawnNode } from '../embedded-instance.ts'
import { writeSource } from './source.ts'

export type Command = { name: string; ms: number; peakBytes: number }

const lookMs = 20

/** Backup and restore of the stopped instance in `folder`, and an import of as many accounts into a new one. */
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
  ]
}

async function command(folder: string, args: string[]): Promise<Command> {
  const startedAt = performance.now()
  const child = spawnNode([...programArguments('deploy/cli/main.ts'), '--yes', ...args], { GATEHOUSE_DATA: folder })
  const ended = once(child, 'exit')
  let peakBytes = 0
  while (child.exitCode === null && child.signalCode === null) {
    peakBytes = Math.max(peakBytes, await readPeak(child.pid!).catch(() => 0))
    await Promise.race([ended, pause(lookMs)])
  }
  if (child.exitCode !== 0) throw new Error(`${args[0]} ended with ${child.exitCode ?? child.signalCode}`)
  return { name: args[0]!, ms: performance.now() - startedAt, peakBytes }
}

/** The most memory that a process has had, in bytes. Linux only. */
export async function readPeak(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024
}
