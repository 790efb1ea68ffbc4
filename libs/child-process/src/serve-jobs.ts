import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'

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

const lowest = constants.priority.PRIORITY_LOW
/** About half of another session's share. Under a lower one, a busy unrelated program would slow logins down. */
const ofSession = 3

/** The kernel takes one change of a session's priority in a tenth of a second. */
const attemptsMax = 50
const retryMs = 100

/** On Linux a priority is of a thread, and with autogroup only within the session, which gets a low one too. */
export function lowerPriority(): void {
  if (process.platform !== 'linux') return setPriority(lowest)
  for (const thread of readdirSync('/proc/self/task')) setPriority(Number(thread), lowest)
  if (leadsSession()) lowerSession(attemptsMax)
}

/** Field 6 of proc_pid_stat(5) is the id of the leader. The name before it may hold anything. */
function leadsSession(): boolean {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3]) === process.pid
}

function lowerSession(attempts: number): void {
  try {
    writeFileSync('/proc/self/autogroup', String(ofSession))
  } catch (error) {
    const isTooSoon = (error as NodeJS.ErrnoException).code === 'EAGAIN'
    if (isTooSoon && attempts > 1) setTimeout(lowerSession, retryMs, attempts - 1)
  }
}
