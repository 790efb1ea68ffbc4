import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

/** `startedAt` has the system's format. With the pid it identifies a process for good. */
type ProcessEntry = { pid: number; parentPid: number; state: string; startedAt: string }

const isLinux = process.platform === 'linux'

export function signalTree(pid: number, signal: NodeJS.Signals): void {
  for (const member of listTree(pid)) signalProcess(member, signal)
}

/** Waits until all have ended. */
export async function killTree(pid: number): Promise<void> {
  signalProcess(pid, 'SIGSTOP') // so that it starts no more children
  const members = listTree(pid)
  for (const member of members) signalProcess(member, 'SIGKILL')
  while (members.some(isRunning)) await pause(5)
}

export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** A zombie does not run. */
export const isRunning = (pid: number): boolean => startTimeOf(pid) !== undefined

export function startTimeOf(pid: number): string | undefined {
  const [entry] = readProcesses(pid)
  return entry && !/^[ZX]/.test(entry.state) ? entry.startedAt : undefined
}

/** Empty when the process does not run. */
export function commandLineOf(pid: number): string {
  try {
    if (isLinux) return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    return execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
  } catch {
    return ''
  }
}

export function listTree(root: number): number[] {
  const processes = readProcesses()
  const tree = [root]
  for (const member of tree) tree.push(...processes.filter((entry) => entry.parentPid === member).map(({ pid }) => pid))
  return tree
}

function readProcesses(pid?: number): ProcessEntry[] {
  if (!isLinux) return readPs(pid === undefined ? ['-A'] : ['-p', String(pid)])
  const pids = pid === undefined ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : [pid]
  return pids.flatMap((each) => readStat(Number(each)))
}

function readStat(pid: number): ProcessEntry[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field may hold spaces and parentheses.
    const { 0: state = '', 1: parentPid, 19: startedAt = '' } = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return [{ pid, parentPid: Number(parentPid), state, startedAt }]
  } catch {
    return []
  }
}

function readPs(selection: string[]): ProcessEntry[] {
  try {
    const table = execFileSync('ps', [...selection, '-o', 'pid=,ppid=,state=,lstart='], { encoding: 'utf8' })
    const rows = table.matchAll(/^ *(\d+) +(\d+) +(\S+) +(.*)$/gm)
    return Array.from(rows, ([, pid, parentPid, state = '', startedAt = '']) => {
      return { pid: Number(pid), parentPid: Number(parentPid), state, startedAt }
    })
  } catch {
    return []
  }
}
