import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'

const lowest = constants.priority.PRIORITY_LOW
/** About half of another session's share. The lower it is, the more an unrelated program under load slows logins down. */
const ofSession = 3

/** The kernel takes one change of a session's priority of all ordinary users in a tenth of a second. */
const attemptsMax = 50
const retryMs = 100

/**
 * Gives this process the lowest priority: it uses the processor time that other work leaves. On Linux a priority is that of a
 * thread, inherited by those it starts later; here all existing ones are set too, so that no worker is missed. Linux counts
 * priorities only within a session where it shares the processors out between sessions first, all alike (autogroup): a
 * process that leads a session of its own gives that one a low priority too.
 */
export function lowerPriority(): void {
  if (process.platform !== 'linux') return setPriority(lowest)
  for (const thread of readdirSync('/proc/self/task')) setPriority(Number(thread), lowest)
  if (leadsSession()) lowerSession(attemptsMax)
}

/** A session has the id of its leader: field 6 of proc_pid_stat(5), counted behind the name, which may hold anything. */
function leadsSession(): boolean {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3]) === process.pid
}

function lowerSession(attempts: number): void {
  try {
    writeFileSync('/proc/self/autogroup', String(ofSession))
  } catch (error) {
    // Any other fault: this kernel knows no priority of sessions, or gives none away.
    const isTooSoon = (error as NodeJS.ErrnoException).code === 'EAGAIN'
    if (isTooSoon && attempts > 1) setTimeout(lowerSession, retryMs, attempts - 1)
  }
}
