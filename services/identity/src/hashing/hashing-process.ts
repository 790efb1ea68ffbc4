import { readdirSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import bcrypt from 'bcrypt'

/** What the service sends. */
export type Job = { id: number; password: string } & (
  { kind: 'hash'; cost: number } | { kind: 'compare'; hash: string }
)

/** What it gets back: a hash, or whether the password fits. */
export type JobResult = { id: number } & ({ value: string | boolean } | { failure: string })

/**
 * Gives every thread the lowest priority: hashing uses the processor time that other work leaves. On Linux a priority is
 * that of a thread, inherited by those it starts later; here all existing ones are set too, so that no hashing thread is
 * missed. UV_THREADPOOL_SIZE sets their number. Design: invariant 5.
 */
function lowerPriority(): void {
  const threads = process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [0]
  for (const thread of threads) setPriority(thread, constants.priority.PRIORITY_LOW)
}

async function run(job: Job): Promise<JobResult> {
  try {
    const value =
      job.kind === 'hash' ? await bcrypt.hash(job.password, job.cost) : await bcrypt.compare(job.password, job.hash)
    return { id: job.id, value }
  } catch (error) {
    return { id: job.id, failure: error instanceof Error ? error.message : 'hashing failed' }
  }
}

lowerPriority()
process.on('message', (job: Job) => {
  void run(job).then((result) => process.send?.(result))
})
process.on('disconnect', () => process.exit(0))
// The parent ends it, also when a signal goes to the whole process group.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
