import { selectRows } from '@gatehouse/database'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'

export const queues = {
  peers: { table: 'peers', key: 'id', due: 'next_attempt_at', condition: 'true' },
  rotations: { table: 'peers', key: 'id', due: 'next_rotation_at', condition: "status = 'active'" },
  requests: { table: 'approval_requests', key: 'id', due: 'next_attempt_at', condition: 'true' },
  resets: { table: 'peer_resets', key: 'origin', due: 'next_attempt_at', condition: 'true' },
} as const

/** One replica gets each row until its lease ends. Returns the keys. */
export async function claimDue({ orm, clock }: Pick<Deps, 'orm' | 'clock'>, queue: keyof typeof queues) {
  const { table, key, due, condition } = queues[queue]
  const now = clock.now()
  const rows = await selectRows<{ key: string }>(
    orm.em.fork(),
    `update ${table} set ${due} = ? where ${key} in (
       select ${key} from ${table} where ${due} <= ? and ${condition} order by ${due} limit ? for update skip locked)
     returning ${key}::text as key`,
    [new Date(now + policy.leaseMs), new Date(now), policy.duePerRun],
  )
  return rows.map((row) => row.key)
}
