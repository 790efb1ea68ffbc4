import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'

const lowest = constants.priority.PRIORITY_LOW
/** About half of another session's share. Under a lower one, a busy unrelated program would slow logins down. */
const ofSession = 3

/** The kernel takes one change of a session's priority in a tenth of a second. */
const attemptsMax = 50
const retryMs = 100

/**
 * On Linux a priority is that of a thread. With autogroup it counts only within the session, so the session gets a low
 * priority too.
 */
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
