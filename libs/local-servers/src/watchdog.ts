import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { resolve } from 'node:path'

/** What the watchdog does when this process has ended: remove a folder, or signal a process; without a signal, nothing. */
export type WatchdogMessage = { folder: string } | { pid: number; signal?: NodeJS.Signals }

let watchdog: ChildProcess | undefined

/** Has a folder removed when this process has ended, by SIGKILL too. */
export function watchFolder(folder: string): void {
  send({ folder })
}

/** Has a process and its descendants ended by `signal` when this process has ended, by SIGKILL too. */
export function watchProcess(pid: number, signal: NodeJS.Signals): void {
  send({ pid, signal })
}

/** Takes `watchProcess` back: the process has ended, and its pid may be given to another one. */
export function unwatchProcess(pid: number): void {
  send({ pid })
}

function send(message: WatchdogMessage): void {
  watchdog ??= startWatchdog()
  watchdog.send(message)
}

function startWatchdog(): ChildProcess {
  const child = fork(resolve(import.meta.dirname, 'watchdog-process.ts'), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    detached: true, // a Ctrl-C on the terminal must not end it
  })
  child.unref()
  child.channel?.unref()
  return child
}
