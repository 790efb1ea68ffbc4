import { readdirSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import type { JobResult } from './jobs.ts'

/**
 * The program of a child process: does every job that the parent sends and sends its result back, at the lowest priority
 * of the operating system. Ends with the parent. Design: invariant 5.
 */
export function serveJobs(run: (job: never) => Promise<unknown>): void {
  lowerPriority()
  process.on('message', (job: { id: number }) => {
    void resultOf(job, run).then((result) => process.send?.(result))
  })
  process.on('disconnect', () => process.exit(0))
  // The parent ends it, also when a signal goes to the whole process group.
  process.on('SIGINT', () => undefined)
  process.on('SIGTERM', () => undefined)
}

async function resultOf(job: { id: number }, run: (job: never) => Promise<unknown>): Promise<JobResult<unknown>> {
  try {
    return { id: job.id, value: await run(job as never) }
  } catch (error) {
    return { id: job.id, failure: error instanceof Error ? error.message : 'the job failed' }
  }
}

/**
 * Gives every thread the lowest priority: jobs use the processor time that other work leaves. On Linux a priority is that
 * of a thread, inherited by those it starts later; here all existing ones are set too, so that no worker is missed.
 */
function lowerPriority(): void {
  const threads = process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [0]
  for (const thread of threads) setPriority(thread, constants.priority.PRIORITY_LOW)
}
