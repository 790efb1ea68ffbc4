import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

// Of the fields of /proc/<pid>/stat that follow the name.
const START_TIME = 19

/** Sends a signal to a process and everything below it; processes that are gone already are passed over. */
export function signalTree(pid: number, signal: NodeJS.Signals): void {
  for (const member of listTree(pid)) signalProcess(member, signal)
}

/** Ends a process and everything below it with SIGKILL, and waits until all of them are gone. */
export async function killTree(pid: number): Promise<void> {
  signalProcess(pid, 'SIGSTOP') // so that it starts no more children
  const members = listTree(pid)
  for (const member of members) signalProcess(member, 'SIGKILL')
  while (members.some(isRunning)) await pause(5)
}

/** Whether a process runs: one that has ended, but was not waited for by its parent, does not. */
export function isRunning(pid: number): boolean {
  if (process.platform === 'linux') return !['Z', 'X', undefined].includes(readStat(String(pid))?.[0])
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** When a process started, as a text that only fits itself; undefined when it does not run. */
export function startOf(pid: number): string | undefined {
  if (process.platform === 'linux') return isRunning(pid) ? readStat(String(pid))?.[START_TIME] : undefined
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || undefined
  } catch {
    return undefined
  }
}

/** Sends a signal to one process; one that is gone already is passed over. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** A process and everything below it. */
export function listTree(root: number): number[] {
  const parents = listParents()
  const tree = [root]
  for (const parent of tree) {
    for (const [pid, parentPid] of parents) if (parentPid === parent) tree.push(pid)
  }
  return tree
}

function listParents(): [pid: number, parentPid: number][] {
  if (process.platform !== 'linux') {
    const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    return table.split('\n').flatMap((line) => {
      const [pid, parentPid] = line.trim().split(/\s+/).map(Number)
      return pid && parentPid ? [[pid, parentPid] as [number, number]] : []
    })
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => [Number(name), Number(readStat(name)?.[1])])
}

/** The state, the parent and so on of `/proc/<pid>/stat`; undefined when there is no such process. */
function readStat(pid: string): string[] | undefined {
  try {
    // The name in parentheses may itself hold spaces and parentheses: read after the last one.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}
