import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isRunning, killTree, signalProcess, signalTree } from './process-tree.ts'

const FAST_SHUTDOWN_MS = 15_000

/**
 * Ends the server that an owner who was killed may have left running on these data, in an orderly way if it lets itself.
 * Only for the one who holds the claim to the folder.
 */
export async function stopLeftOverPostgres(data: string): Promise<void> {
  const pid = findPostgresOf(data)
  if (pid === undefined) return
  signalTree(pid, 'SIGCONT')
  signalProcess(pid, 'SIGINT')
  const deadline = performance.now() + FAST_SHUTDOWN_MS
  while (isRunning(pid) && performance.now() < deadline) await pause(20)
  if (isRunning(pid)) await killTree(pid)
}

/** The process that postmaster.pid names, when it is still that: the number may by now be another process's. */
function findPostgresOf(data: string): number | undefined {
  try {
    const pid = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n', 1)[0])
    if (!Number.isInteger(pid) || pid <= 1 || !isRunning(pid)) return undefined
    const command = execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
    return command.includes(`-D ${data}`) ? pid : undefined
  } catch {
    return undefined
  }
}
