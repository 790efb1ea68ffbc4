import { fork, type ChildProcess } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isReachable } from './closed-folders.ts'

/** Without `signal`, a process is left alone. */
export type WatchdogMessage = { folder: string } | { pid: number; signal?: NodeJS.Signals }

let watchdog: ChildProcess | undefined

/** Removed when this process ends, by SIGKILL too. */
export const watchFolder = (folder: string): void => send({ folder })
export const watchProcess = (pid: number, signal: NodeJS.Signals): void => send({ pid, signal })
/** The pid of an ended process may be given to another. */
export const unwatchProcess = (pid: number): void => send({ pid })

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

/** In GATEHOUSE_TEST_SCRATCH, the project's data folder, or the system's. Removed when this process ends. */
export async function createScratchFolder(name: string): Promise<string> {
  const dataFolder = resolve(process.env.GATEHOUSE_DATA ?? '.gatehouse')
  const parent = process.env.GATEHOUSE_TEST_SCRATCH || join(dataFolder, 'scratch')
  await mkdir(parent, { recursive: true })
  const prefix = join(parent, `${name}-`)
  const folder = await mkdtemp(isReachable(prefix) ? prefix : join(tmpdir(), `gatehouse-${name}-`))
  watchFolder(folder)
  return folder
}

export const removeFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 5 })
