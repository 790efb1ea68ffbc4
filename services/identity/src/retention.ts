import { deleteInSteps } from '@gatehouse/database'
import { startPeriodicTask, type PeriodicTask } from '@gatehouse/runtime'
import type { Deps } from './deps.ts'
import { policy } from './policy.ts'
import { dayMs, firstIdOf } from './queries/days.ts'

type RetentionDeps = Pick<Deps, 'orm' | 'clock' | 'log' | 'timer'> & { config: { auditRetentionDays: number } }

/** Removes what is kept for a time only. Any number of replicas may run it. Contract: 3, Sign-ins; 5, Retention. */
export function startRetention({ orm, clock, log, timer, config }: RetentionDeps): PeriodicTask {
  const remove = (table: string, where: string, oldest: Date | string) =>
    deleteInSteps(orm, { table, where, parameters: [oldest], rows: policy.rowsRemovedAtOnce })
  const options = { name: 'retention', everyMs: policy.retentionIntervalMs, firstAfterMs: 0, log, timer }
  return startPeriodicTask(options, async () => {
    const now = clock.now()
    await remove('sign_ins', 'signed_in_at < ?', new Date(now - policy.signInMs))
    for (const table of ['provider_flows', 'provider_tickets', 'logout_tokens'] as const) {
      await remove(table, 'expires_at < ?', new Date(now))
    }
    const hourAgo = new Date(now - policy.mailHourMs)
    await remove('mails', 'next_at is null and tried_at < ?', hourAgo)
    await remove('mails', 'expires_at < ?', hourAgo)
    // Ids tell the time.
    const oldestId = firstIdOf(now - config.auditRetentionDays * dayMs)
    if (config.auditRetentionDays > 0) await remove('audit_log', 'id < ?', oldestId)
  })
}
