import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { JobResult } from './serve-jobs.ts'

type ChildOptions<Value> = {
  /** For the log. */
  name: string
  program: URL
  heapMib: number
  environment: Record<string, string>
  /** After a process that completed no job. */
  restartDelayMs: number
  log: Record<'error' | 'warn', (fields: object, message: string) => void>
  onResult(result: JobResult<Value>): void
  /** Its jobs are lost. `completedAny`: the process had completed a job, so another starts at once. */
  onEnd(completedAny: boolean): void
  onReplaced(): void
}

type End = { restartsAtOnce: boolean; reason: string; level?: 'error' | 'warn' }

/** The process gets no secret. */
const inheritedVariables = ['PATH', 'LD_LIBRARY_PATH', 'SystemRoot', 'NODE_COMPILE_CACHE']

/** One that ended is replaced. */
export function startSupervisedChild<Value>(options: ChildOptions<Value>) {
  let closed = false
  let restart: NodeJS.Timeout | undefined
  let child: ChildProcess | undefined = spawn()

  function spawn(): ChildProcess {
    let completedAny = false
    const inherited = inheritedVariables.filter((name) => name in process.env)
    const secretless = Object.fromEntries(inherited.map((name) => [name, process.env[name]] as const))
    const spawned = fork(fileURLToPath(options.program), {
      env: { ...secretless, ...options.environment },
      execArgv: ['--max-semi-space-size=1', `--max-old-space-size=${options.heapMib}`],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      // It lowers the priority of its own session.
      detached: process.platform === 'linux',
    })
    const ended = (reason: string) => replace(spawned, { restartsAtOnce: completedAny, reason })
    spawned.on('message', (result: JobResult<Value>) => {
      completedAny = true
      if (spawned === child) options.onResult(result)
    })
    // Without an exit event when it cannot be started, or has ended before a job is sent.
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
    start: (job: { id: number }) => void child?.send(job),
    ready: () => child?.connected ?? false,
    pid: () => child?.pid,
    replace: (reason: string) => {
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
