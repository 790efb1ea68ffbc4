import { readdirSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import bcrypt from 'bcrypt'
import type { Job, JobResult } from './job.ts'

/**
 * Hashing takes what other work leaves. On Linux a priority is that of a thread and is inherited by those it starts
 * later; here every thread that already runs gets it too, so that none of the hashing ones is missed. How many of them
 * there are is set by UV_THREADPOOL_SIZE.
 */
function stepBack(): void {
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

stepBack()
process.on('message', (job: Job) => {
  void run(job).then((result) => process.send?.(result))
})
process.on('disconnect', () => process.exit(0))
// The parent decides when it ends, also when a signal goes to the whole group.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
