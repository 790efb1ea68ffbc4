import type { ReceiverState } from '@gatehouse/contracts'
import { read } from '@gatehouse/database'
import type { NoticeChannel } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'

type Row = {
  applicationId: string
  channel: NoticeChannel
  waiting: number
  oldestAt: number | null
  lastDeliveredAt: number | null
  failingSince: number | null
  lastError: string | null
}

const ms = (column: string, name: string) => `(extract(epoch from ${column}) * 1000)::float8 as "${name}"`

/** Of every receiver that was told something. Contract: 3, Applications. */
export async function listReceivers(em: EntityManager, applicationId?: string): Promise<Row[]> {
  const sql = `select r.application_id::text as "applicationId", r.channel, r.last_error as "lastError",
      ${ms('r.last_delivered_at', 'lastDeliveredAt')}, ${ms('r.failing_since', 'failingSince')},
      w.waiting, ${ms('w.oldest', 'oldestAt')}
    from application_receivers r cross join lateral (
      select count(*)::int as waiting, min(n.created_at) as oldest from application_notices n
      where n.application_id = r.application_id and n.channel = r.channel and n.sent_at is null) w
    where ?::bigint is null or r.application_id = ?`
  return await read<Row>(em, sql, [applicationId ?? null, applicationId ?? null])
}

const untold: ReceiverState = { waiting: 0, lastDeliveredAt: null, failingSince: null, lastError: null }

/** Null: the application has no such address. */
export function stateOf(rows: readonly Row[], of: { applicationId: string; channel: NoticeChannel; uri: unknown }) {
  if (of.uri == null) return null
  const row = rows.find((one) => one.applicationId === of.applicationId && one.channel === of.channel)
  if (!row) return untold
  const { waiting, lastDeliveredAt, failingSince, lastError } = row
  return { waiting, lastDeliveredAt, failingSince, lastError }
}
