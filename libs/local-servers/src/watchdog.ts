import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Without `signal`, a process is left alone. */
export type WatchdogMessage = { folder: string } | { pid: number; signal?: NodeJS.Signals }

let watchdog: ChildProcess | undefined

/** Removed when this process ends, by SIGKILL too. */
export function watchFolder(folder: string): void {
  send({ folder })
}

export function watchProcess(pid: number, signal: NodeJS.Signals): void {
  send({ pid, signal })
}

/** The pid of an ended process may be given to another. */
export function unwatchProcess(pid: number): void {
  send({ pid })
}

function send(message: WatchdogMessage): void {
  watchdog ??= startWatchdog()
  watchdog.send(message)
}

function startWatchdog(): ChildProcess {
  const child = fork(fileURLToPath(new URL('./watchdog-process.ts', import.meta.url)), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    detached: true, // a Ctrl-C on the terminal must not end it
  })
  child.unref()
  child.channel?.unref()
  return child
}
