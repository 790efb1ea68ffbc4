import { deleteInSteps } from '@gatehouse/database'
import { startPeriodicTask, type PeriodicTask } from '@gatehouse/runtime'
import type { Resources } from '@gatehouse/service-kit'
import type { IdentityConfig } from './config.ts'
import { policy } from './policy.ts'
import { dayMs, firstIdOf } from './queries/days.ts'

type RetentionDeps = Pick<Resources, 'orm' | 'clock' | 'log'> & {
  config: Pick<IdentityConfig, 'auditRetentionDays'>
}

/** Removes what is kept for a time only. Any number of replicas may run it. Contract: 3, Sign-ins; 5, Retention. */
export function startRetention(deps: RetentionDeps): PeriodicTask {
  const options = { name: 'retention', everyMs: policy.retentionIntervalMs, log: deps.log }
  const task = startPeriodicTask(options, async () => {
    const now = deps.clock.now()
    const { auditRetentionDays } = deps.config
    const rows = policy.rowsRemovedAtOnce
    const oldest = new Date(now - policy.signInMs)
    await deleteInSteps(deps.orm, { table: 'sign_ins', where: 'signed_in_at < ?', parameters: [oldest], rows })
    if (auditRetentionDays === 0) return
    // Ids tell the time.
    const oldestId = firstIdOf(now - auditRetentionDays * dayMs)
    await deleteInSteps(deps.orm, { table: 'audit_log', where: 'id < ?', parameters: [oldestId], rows })
  })
  void task.runNow()
  return task
}
