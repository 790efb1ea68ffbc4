import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Log } from '@gatehouse/service-kit'
import { policy } from '../policy.ts'
import type { Job, JobResult } from './hashing-process.ts'

export type HashingChild = AsyncDisposable & {
  /** Sends a job, if `ready`. */
  start(job: Job): void
  /** Whether a process is connected. */
  ready(): boolean
}

type ChildOptions = {
  threads: number
  log: Log
  onResult(result: JobResult): void
  /** The process ended, its jobs are lost. `completedAny`: it had completed at least one. */
  onEnd(completedAny: boolean): void
  /** Another process is running. */
  onReplaced(): void
}

const program = fileURLToPath(new URL('./hashing-process.ts', import.meta.url))

/** The process handles passwords: of the environment it gets what a program needs to run, and no secret. */
const inheritedVariables = ['PATH', 'LD_LIBRARY_PATH', 'SystemRoot']

/** Keeps one hashing process running. One that ended before it completed a job is replaced after a delay. */
export function startHashingChild(options: ChildOptions): HashingChild {
  let closed = false
  let restart: NodeJS.Timeout | undefined
  let child: ChildProcess | undefined = spawn()

  function spawn(): ChildProcess {
    let completedAny = false
    const spawned = fork(program, {
      env: { ...inheritedEnvironment(), UV_THREADPOOL_SIZE: String(options.threads) },
      execArgv: ['--max-semi-space-size=1', '--max-old-space-size=64'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    spawned.on('message', (result: JobResult) => {
      completedAny = true
      options.onResult(result)
    })
    // Also when it cannot be started or has ended before a job is sent: an exit event may then be missing.
    spawned.on('error', (error) => replace(spawned, { completedAny, reason: error.message }))
    spawned.once('exit', (code, signal) => replace(spawned, { completedAny, reason: `ended with ${signal ?? code}` }))
    return spawned
  }

  function replace(ended: ChildProcess, { completedAny, reason }: { completedAny: boolean; reason: string }): void {
    if (closed || ended !== child) return
    child = undefined
    ended.kill('SIGKILL')
    options.log.error({ reason }, 'hashing process ended, restarting')
    options.onEnd(completedAny)
    restart = setTimeout(startAgain, completedAny ? 0 : policy.hashingRestartDelayMs)
  }

  function startAgain(): void {
    child = spawn()
    options.onReplaced()
  }

  return {
    start: (job) => void child?.send(job),
    ready: () => child?.connected ?? false,
    [Symbol.asyncDispose]: async () => {
      closed = true
      clearTimeout(restart)
      const running = child
      if (!running || running.exitCode !== null || running.signalCode !== null) return
      const exited = new Promise((resolve) => running.once('exit', resolve))
      running.kill('SIGKILL')
      await exited
    },
  }
}

function inheritedEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    inheritedVariables.flatMap((name) => (name in process.env ? [[name, process.env[name]]] : [])),
  )
}
