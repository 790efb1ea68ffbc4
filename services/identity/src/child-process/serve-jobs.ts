import type { JobResult } from './jobs.ts'
import { lowerPriority } from './lower-priority.ts'

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
