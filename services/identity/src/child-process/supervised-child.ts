import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Log } from '@gatehouse/service-kit'
import type { JobResult } from './jobs.ts'

export type SupervisedChild<Job> = AsyncDisposable & {
  /** Sends a job, if `ready`. */
  start(job: Job): void
  /** Whether a process is connected. */
  ready(): boolean
  /** Of the present process. */
  pid(): number | undefined
  /** Kills the process and starts another at once. */
  replace(reason: string): void
}

type ChildOptions<Value> = {
  /** As it is called in the log. */
  name: string
  program: URL
  heapMib: number
  /** Beside what every program needs to run. */
  environment: Record<string, string>
  /** Delay before another process is started after one that completed no job. */
  restartDelayMs: number
  log: Log
  onResult(result: JobResult<Value>): void
  /** The process ended, its jobs are lost. `restartsAtOnce`: it worked, so another is started without a delay. */
  onEnd(restartsAtOnce: boolean): void
  /** Another process is running. */
  onReplaced(): void
}

type End = { restartsAtOnce: boolean; reason: string; level?: 'error' | 'warn' }

/** The process gets of the environment what a program needs to run, and no secret. */
const inheritedVariables = ['PATH', 'LD_LIBRARY_PATH', 'SystemRoot', 'NODE_COMPILE_CACHE']

/** Keeps one child process running that does jobs (`serveJobs`). One that ended is replaced. */
export function startSupervisedChild<Job extends { id: number }, Value>(
  options: ChildOptions<Value>,
): SupervisedChild<Job> {
  let closed = false
  let restart: NodeJS.Timeout | undefined
  let child: ChildProcess | undefined = spawn()

  function spawn(): ChildProcess {
    let completedAny = false
    const spawned = fork(fileURLToPath(options.program), {
      env: { ...inheritedEnvironment(), ...options.environment },
      execArgv: ['--max-semi-space-size=1', `--max-old-space-size=${options.heapMib}`],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      // A session of its own, whose priority it can lower: see serveJobs.
      detached: process.platform === 'linux',
    })
    const ended = (reason: string) => replace(spawned, { restartsAtOnce: completedAny, reason })
    spawned.on('message', (result: JobResult<Value>) => {
      completedAny = true
      if (spawned === child) options.onResult(result)
    })
    // Also when it cannot be started or has ended before a job is sent: an exit event may then be missing.
    spawned.on('error', (error) => ended(error.message))
    spawned.once('exit', (code, signal) => ended(`ended with ${signal ?? code}`))
    return spawned
  }

  function replace(ended: ChildProcess, { restartsAtOnce, reason, level = 'error' }: End): void {
    if (closed || ended !== child) return
    child = undefined
    ended.kill('SIGKILL')
    options.log[level]({ reason }, `${options.name} process ended, restarting`)
    options.onEnd(restartsAtOnce)
    restart = setTimeout(startAgain, restartsAtOnce ? 0 : options.restartDelayMs)
  }

  function startAgain(): void {
    child = spawn()
    options.onReplaced()
  }

  return {
    start: (job) => void child?.send(job),
    ready: () => child?.connected ?? false,
    pid: () => child?.pid,
    replace: (reason) => {
      if (child) replace(child, { restartsAtOnce: true, reason, level: 'warn' })
    },
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
