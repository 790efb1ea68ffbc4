import { spawn } from 'node:child_process'
import type { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'

/** A folder to remove in the end; a process to end then by a signal; or, without a signal, one that has ended. */
export type WatchdogMessage = { folder: string } | { pid: number; endBy?: NodeJS.Signals }

let input: Writable | undefined

/** Has a folder removed when this process ends, even by SIGKILL. */
export function watchFolder(folder: string): void {
  tell({ folder })
}

/** Has a process ended by `signal` when this process ends, even by SIGKILL. */
export function watchProcess(pid: number, signal: NodeJS.Signals): void {
  tell({ pid, endBy: signal })
}

/** The process has ended: its id may soon belong to another. */
export function unwatchProcess(pid: number): void {
  tell({ pid })
}

function tell(message: WatchdogMessage): void {
  input ??= startWatchdog()
  input.write(`${JSON.stringify(message)}\n`)
}

function startWatchdog(): Writable {
  const file = fileURLToPath(new URL('./watchdog-process.ts', import.meta.url))
  const watchdog = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', file], {
    stdio: ['pipe', 'ignore', 'inherit'],
    detached: true, // out of reach of a Ctrl-C that is meant for the tests
  })
  watchdog.unref()
  ;(watchdog.stdin as unknown as { unref(): void }).unref()
  return watchdog.stdin
}
