import { changeRows, deleteInSteps, read } from '@gatehouse/database'
import type { NoticeChannel } from '@gatehouse/domain'
import { backoffMs, type BackgroundTasks } from '@gatehouse/runtime'
import type { Counter } from 'prom-client'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import { noticePolicy } from './policy.ts'
import { sendNotice, type DueNotice, type Outcome } from './send-notice.ts'

export type TellDeps = Pick<Deps, 'orm' | 'outbound' | 'keyring' | 'subjects' | 'clock' | 'config'> & {
  background: BackgroundTasks
  outcomes: Counter
}
type Receiver = { applicationId: string; channel: NoticeChannel }

const isReady = '(next_at is null or next_at <= ?) and (leased_until is null or leased_until <= ?)'

/** Each receiver by itself: one that hangs holds up its own notices only. Design: invariant 10. */
export async function tellReceivers(deps: TellDeps): Promise<void> {
  const now = new Date(deps.clock.now())
  const sql = `select application_id::text as "applicationId", channel from application_receivers r where ${isReady}
    and exists (select 1 from application_notices n where n.application_id = r.application_id
      and n.channel = r.channel and n.sent_at is null)`
  const receivers = await read<Receiver>(deps.orm.em.fork(), sql, [now, now])
  for (const receiver of receivers) {
    deps.background.start(`tell ${receiver.channel} of ${receiver.applicationId}`, async () => {
      while (await tellNext(deps, receiver));
    })
  }
}

/** The oldest that waits. True: the next may follow. */
async function tellNext(deps: TellDeps, receiver: Receiver): Promise<boolean> {
  const leasedUntil = await lease(deps, receiver)
  if (!leasedUntil) return false
  const notice = await findOldest(deps, receiver)
  const outcome = notice && (await sendNotice(deps, notice))
  await finish(deps, { receiver, leasedUntil, notice, outcome })
  return outcome !== undefined && outcome.result !== 'failed'
}

/** One replica tells a receiver. Null: another does, or it is not due. */
async function lease({ orm, clock }: TellDeps, { applicationId, channel }: Receiver): Promise<Date | null> {
  const now = clock.now()
  const until = new Date(now + noticePolicy.leaseMs)
  const sql = `update application_receivers set leased_until = ? where application_id = ? and channel = ? and ${isReady}`
  const at = new Date(now)
  return (await changeRows(orm.em.fork(), sql, [until, applicationId, channel, at, at])) > 0 ? until : null
}

async function findOldest(deps: TellDeps, receiver: Receiver): Promise<(DueNotice & { attempts: number }) | undefined> {
  const uri = receiver.channel === 'signals' ? 'signals_uri' : 'backchannel_logout_uri'
  const sql = `select n.id::text as id, n.event_id as "eventId", n.event, n.attempts, a.sector, a.${uri} as uri
    from application_notices n join applications a on a.id = n.application_id and a.${uri} is not null
    where n.application_id = ? and n.channel = ? and n.sent_at is null and n.expires_at > ?
    order by n.created_at, n.id limit 1`
  type Row = Pick<DueNotice, 'id' | 'eventId' | 'event' | 'uri' | 'sector'> & { attempts: number }
  const parameters = [receiver.applicationId, receiver.channel, new Date(deps.clock.now())]
  const [row] = await read<Row>(deps.orm.em.fork(), sql, parameters)
  return row && { ...row, ...receiver }
}

type Finished = {
  receiver: Receiver
  leasedUntil: Date
  notice: { id: string; attempts: number } | undefined
  outcome: Outcome | undefined
}

async function finish(deps: TellDeps, { receiver, leasedUntil, notice, outcome }: Finished): Promise<void> {
  const now = deps.clock.now()
  const em = deps.orm.em.fork()
  const own = [receiver.applicationId, receiver.channel, leasedUntil]
  const ofLease = 'where application_id = ? and channel = ? and leased_until = ?'
  if (!notice || !outcome) {
    await changeRows(em, `update application_receivers set leased_until = null, next_at = null ${ofLease}`, own)
    return
  }
  deps.outcomes.inc({ channel: receiver.channel, outcome: outcome.result })
  // What was sent stays until it expires: an event that comes again is not told again.
  const outcomeColumns = outcome.result === 'failed' ? 'attempts = attempts + 1' : 'sent_at = ?'
  const parameters = outcome.result === 'failed' ? [notice.id] : [new Date(now), notice.id]
  await changeRows(em, `update application_notices set ${outcomeColumns} where id = ?`, parameters)
  const repeatInMs = outcome.result === 'failed' ? backoffMs(notice.attempts, noticePolicy.backoff) : 0
  const state =
    outcome.result === 'delivered'
      ? ['last_delivered_at = ?, failing_since = null, last_error = null, next_at = null', new Date(now)]
      : [
          'failing_since = coalesce(failing_since, ?), last_error = ?, next_at = ?',
          new Date(now),
          outcome.error,
          new Date(now + repeatInMs),
        ]
  const [set, ...values] = state
  await changeRows(em, `update application_receivers set leased_until = null, ${String(set)} ${ofLease}`, [
    ...values,
    ...own,
  ])
}

/** Sent or not. */
export async function removeExpired({ orm, clock }: Pick<Deps, 'orm' | 'clock'>): Promise<void> {
  const [where, parameters] = ['expires_at <= ?', [new Date(clock.now())]]
  await deleteInSteps(orm, { table: 'application_notices', where, parameters, rows: policy.rowsRemovedAtOnce })
}
