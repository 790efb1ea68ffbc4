import { selectRows } from '@gatehouse/database'
import type { Deps } from '../deps.ts'
import { dueDeliveries } from '../relay/deliver-profiles.ts'
import { queues } from './claim-due.ts'

const dueRows = [
  ...Object.values(queues).map(({ table, due, condition }) => `${table} where ${due} <= ? and ${condition}`),
  "approval_requests where expires_at <= ? and status in ('unproven', 'pending')",
  "peers where expires_at <= ? and status = 'pending'",
  'attach_proofs where expires_at <= ?',
  'federation_limits where ends_at <= ?',
  'federation_deliveries where expires_at <= ?',
  dueDeliveries,
]
const sql = `select ${dueRows.map((rows) => `exists (select from ${rows})`).join(' or ')} as "isDue"`

/** Nearly always false: it saves most statements at rest. */
export async function isAnythingDue({ orm, clock }: Pick<Deps, 'orm' | 'clock'>): Promise<boolean> {
  const now = new Date(clock.now())
  const [row] = await selectRows<{ isDue: boolean }>(orm.em.fork(), sql, Array(dueRows.length).fill(now))
  return row?.isDue === true
}
