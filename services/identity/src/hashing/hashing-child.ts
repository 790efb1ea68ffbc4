import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Log } from '@gatehouse/service-kit'
import { policy } from '../policy.ts'
import type { Job, JobResult } from './job.ts'

export type HashingChild = AsyncDisposable & {
  /** Starts a job, if `ready`. */
  start(job: Job): void
  /** Whether there is a process that can be asked. */
  ready(): boolean
}

type Options = {
  threads: number
  log: Log
  onResult(result: JobResult): void
  /** What was under way is lost. Not `useful`: the process ended without having finished a single job. */
  onEnd(useful: boolean): void
  /** Jobs can be started again. */
  onReplaced(): void
}

const program = fileURLToPath(new URL('./hashing-process.ts', import.meta.url))

/** It works on passwords: of the environment it gets what a program needs to run, and no secret. */
const passedOn = ['PATH', 'LD_LIBRARY_PATH', 'SystemRoot']

/** Keeps one hashing process running. One that is no use is replaced after a pause. */
export function startHashingChild(options: Options): HashingChild {
  let closed = false
  let pause: NodeJS.Timeout | undefined
  let child: ChildProcess | undefined = spawn()

  function spawn(): ChildProcess {
    let useful = false
    const spawned = fork(program, {
      env: { ...environment(), UV_THREADPOOL_SIZE: String(options.threads) },
      execArgv: ['--max-semi-space-size=1', '--max-old-space-size=64'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    spawned.on('message', (result: JobResult) => {
      useful = true
      options.onResult(result)
    })
    // Also when it could not be started, or is gone when a job is sent; then there may be no exit to hear of.
    spawned.on('error', (error) => replace(spawned, { useful, reason: error.message }))
    spawned.once('exit', (code, signal) => replace(spawned, { useful, reason: `ended with ${signal ?? code}` }))
    return spawned
  }

  function replace(ended: ChildProcess, { useful, reason }: { useful: boolean; reason: string }): void {
    if (closed || ended !== child) return
    child = undefined
    ended.kill('SIGKILL')
    options.log.error({ reason }, 'the hashing process ended, starting another')
    options.onEnd(useful)
    pause = setTimeout(startAgain, useful ? 0 : policy.hashingRestartPauseMs)
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
      clearTimeout(pause)
      if (!child || child.exitCode !== null || child.signalCode !== null) return
      const exited = new Promise((resolve) => child!.once('exit', resolve))
      child.kill('SIGKILL')
      await exited
    },
  }
}

function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(passedOn.flatMap((name) => (name in process.env ? [[name, process.env[name]]] : [])))
}
