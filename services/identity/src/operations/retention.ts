import { deleteInSteps } from '@gatehouse/database'
import { startPeriodicTask, type PeriodicTask } from '@gatehouse/runtime'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import { dayMs, firstIdOf } from '../queries/days.ts'
import { boundsAt } from '../queries/is-waiting.ts'

type RetentionDeps = Pick<Deps, 'orm' | 'clock' | 'log' | 'timer'> & { config: { auditRetentionDays: number } }

/** Removes what is kept for a time only. Any number of replicas may run it. Contract: 3, Sign-ins; 5, Retention. */
export function startRetention({ orm, clock, log, timer, config }: RetentionDeps): PeriodicTask {
  const remove = (table: string, where: string, oldest: Date | string) =>
    deleteInSteps(orm, { table, where, parameters: [oldest], rows: policy.rowsRemovedAtOnce })
  const options = { name: 'retention', everyMs: policy.retentionIntervalMs, firstAfterMs: 0, log, timer }
  return startPeriodicTask(options, async () => {
    const now = clock.now()
    await remove('sign_ins', 'signed_in_at < ?', new Date(now - policy.signInMs))
    for (const table of ['provider_flows', 'provider_tickets', 'used_tokens'] as const) {
      await remove(table, 'expires_at < ?', new Date(now))
    }
    const hourAgo = new Date(now - policy.mailHourMs)
    await remove('mails', 'next_at is null and tried_at < ?', hourAgo)
    await remove('mails', 'expires_at < ?', hourAgo)
    // Where the instance sends mail no more.
    await remove('recovery_requests', 'id < ?', firstIdOf(hourAgo.getTime()))
    // Ids tell the time.
    const oldestId = firstIdOf(now - config.auditRetentionDays * dayMs)
    if (config.auditRetentionDays > 0) await remove('audit_log', 'id < ?', oldestId)
  })
}

/** What has expired, and what can no longer be restored. Contract: 3, Approval. */
export function startRegistrationSweep(deps: Pick<Deps, 'orm' | 'databaseTime' | 'log' | 'timer'>): PeriodicTask {
  const { orm, log, timer } = deps
  const remove = (table: string, where: string, before: Date) =>
    deleteInSteps(orm, { table, where, parameters: [before], rows: policy.rowsRemovedAtOnce })
  const everyMs = policy.registrationSweepIntervalMs
  return startPeriodicTask({ name: 'registrations', everyMs, firstAfterMs: 0, log, timer }, async () => {
    // Of the clock that decides whether one can still be restored.
    const now = await deps.databaseTime(orm.em.fork())
    const { created, denied } = boundsAt(now)
    await remove('registrations', 'created_at <= ?', created)
    await remove('registrations', 'denied_at <= ?', denied)
    await remove('blocked_networks', 'until <= ?', new Date(now))
  })
}
