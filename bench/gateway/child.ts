import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export type Child = Disposable & { port: number; process: ChildProcess; cpuSeconds(): number; megabytes(): number }

/** What a process tells when it serves. */
type Serving = { port: number }

/** To the process that started this one. */
export function tell(message: object): void {
  process.send?.(message)
}

/** Runs a file, relative to this folder, as a process of its own, which ends with us; it tells its port when it serves. */
export async function startChild<Message extends Serving = Serving>(
  file: string,
  settings: Record<string, string>,
  flags: string[] = [],
): Promise<Child & Message> {
  const child = fork(join(import.meta.dirname, file), [], {
    env: { PATH: process.env.PATH ?? '', ...settings },
    execArgv: ['--disable-warning=ExperimentalWarning', ...flags],
  })
  const [message] = (await once(child, 'message')) as [Message]
  return {
    ...message,
    process: child,
    cpuSeconds: () => cpuOf(child.pid!),
    megabytes: () => residentMegabytes(child.pid!),
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  }
}

/** User and system time in seconds, in the kernel's ticks of 10 ms. `withEnded`: and of the children that it has waited for. */
export function cpuOf(pid: number, { withEnded = false } = {}): number {
  const ticks = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
    .slice(11, withEnded ? 15 : 13)
  return ticks.reduce((sum, each) => sum + Number(each), 0) / 100
}

export function residentMegabytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}
