import { deleteInSteps } from '@gatehouse/database'
import { startPeriodicTask, type PeriodicTask } from '@gatehouse/runtime'
import type { Deps } from './deps.ts'
import { policy } from './policy.ts'

/** Removes what has expired. Any number of replicas may run it. */
export function startSweep({ orm, clock, log, timer }: Pick<Deps, 'orm' | 'clock' | 'log' | 'timer'>): PeriodicTask {
  const options = { name: 'openid rows', everyMs: policy.sweepIntervalMs, log, timer }
  return startPeriodicTask(options, async () => {
    const parameters = [new Date(clock.now())]
    const rows = policy.rowsRemovedAtOnce
    await deleteInSteps(orm, { table: 'openid_rows', where: 'expires_at < ?', parameters, rows })
    await deleteInSteps(orm, { table: 'openid_keys', where: 'retired_at < ?', parameters, rows })
  })
}
