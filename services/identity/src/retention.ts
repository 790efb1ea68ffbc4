import { changeRows } from '@gatehouse/database'
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
    await removeBefore(deps, oldSignIns, new Date(now - policy.signInMs))
    if (auditRetentionDays > 0) await removeBefore(deps, oldAudit, firstIdOf(now - auditRetentionDays * dayMs))
  })
  void task.runNow()
  return task
}

const oldSignIns = `delete from sign_ins where (user_id, id) in (
  select user_id, id from sign_ins where signed_in_at < ? order by signed_in_at limit ? for update skip locked)`
/** Ids tell the time. */
const oldAudit = `delete from audit_log where id in (
  select id from audit_log where id < ? order by id limit ? for update skip locked)`

/** Each step is a transaction. */
async function removeBefore({ orm }: RetentionDeps, removal: string, before: Date | string): Promise<void> {
  const step = () => changeRows(orm.em.fork(), removal, [before, policy.rowsRemovedAtOnce])
  while ((await step()) === policy.rowsRemovedAtOnce);
}
