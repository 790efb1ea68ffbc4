import type { Log } from '@gatehouse/service-kit'
import { startSupervisedChild, type SupervisedChild } from '../child-process/supervised-child.ts'
import { policy } from '../policy.ts'
import type { Job, JobResult } from './hashing-process.ts'

export type HashingChild = SupervisedChild<Job>

type ChildOptions = {
  threads: number
  log: Log
  onResult(result: JobResult): void
  /** The process ended, its jobs are lost. `completedAny`: it had completed at least one. */
  onEnd(completedAny: boolean): void
  /** Another process is running. */
  onReplaced(): void
}

/** Keeps one hashing process running; UV_THREADPOOL_SIZE sets the number of its hashing threads. */
export function startHashingChild({ threads, ...options }: ChildOptions): HashingChild {
  return startSupervisedChild({
    ...options,
    name: 'hashing',
    program: new URL('./hashing-process.ts', import.meta.url),
    heapMib: 64,
    environment: { UV_THREADPOOL_SIZE: String(threads) },
    restartDelayMs: policy.hashingRestartDelayMs,
  })
}
