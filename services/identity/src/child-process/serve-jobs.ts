import { lowerPriority } from './lower-priority.ts'

export type JobResult<Value> = { id: number } & ({ value: Value } | { failure: string })

/** The program of a child process. It ends with the parent. Design: invariant 5. */
export function serveJobs(run: (job: never) => Promise<unknown>): void {
  lowerPriority()
  process.on('message', (job: { id: number }) => {
    void resultOf(job, run).then((result) => process.send?.(result))
  })
  process.on('disconnect', () => process.exit(0))
  // A signal may go to the whole process group. The parent ends this process.
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
