import { ApplicationNotice, ApplicationReceiver, type NoticeChannel } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import { noticePolicy } from './policy.ts'
import { channelOf, type Fact } from './told-events.ts'

/** `eventId`: the same facts of it are written once. */
type Writing = { eventId: string; facts: readonly Fact[] }

const ofAccount = `exists (select 1 from application_consents c where c.account_id = ? and c.application_id = a.id)
  or exists (select 1 from openid_rows r where r.account_id = ? and r.application_id = a.id)`

/** To exactly the applications that the account allowed something. Gives how many notices. Contract: 3, Applications. */
export async function tellAllowed(em: EntityManager, accountId: string, writing: Writing): Promise<number> {
  return await write(em, { ...writing, where: ofAccount, parameters: [accountId, accountId] })
}

/** To one application, whatever it was allowed. */
export async function tellApplication(em: EntityManager, applicationId: string, writing: Writing): Promise<number> {
  return await write(em, { ...writing, where: 'a.id = ?', parameters: [applicationId] })
}

/** An event may come late: an account that is enabled is not told as disabled after that. */
const isOutdated = `n.kind in ('account-disabled', 'account-enabled') and exists (
  select 1 from application_notices later where later.application_id = a.id and later.channel = n.channel
    and later.created_at > ? and later.event->>'accountId' = n.event->>'accountId'
    and later.event->>'kind' in ('account-disabled', 'account-enabled', 'account-purged'))`

async function write(em: EntityManager, { eventId, facts, ...of }: Writing & { where: string; parameters: unknown[] }) {
  const [first] = facts
  if (!first) return 0
  const rows = facts.map((event, position) => {
    return { position, channel: channelOf(event.kind), kind: event.kind, event }
  })
  const at = new Date(first.at)
  const receivers = `insert into application_receivers (application_id, channel)
    select distinct application_id, channel from written on conflict do nothing`
  const sql = `with written as (
      insert into application_notices (application_id, channel, event_id, event, created_at, expires_at)
      select a.id, n.channel, ? || ':' || n.kind, n.event, ?, ? from applications a
        join jsonb_to_recordset(?::jsonb) as n (position int, channel text, kind text, event jsonb)
        on case n.channel when 'signals' then a.signals_uri else a.backchannel_logout_uri end is not null
      where (${of.where}) and not (${isOutdated}) order by a.id, n.position
      on conflict (application_id, channel, event_id) do nothing returning application_id, channel
    ), known as (${receivers} returning 1)
    select count(*)::int as count from written`
  const expiresAt = new Date(first.at + noticePolicy.keptMs)
  const parameters = [eventId, at, expiresAt, JSON.stringify(rows), ...of.parameters, at]
  const [written] = await em.execute<{ count: number }[]>(sql, parameters)
  return written?.count ?? 0
}

/** Those that wait at an address that the application no longer has. */
export async function dropNotices(
  em: EntityManager,
  applicationId: string,
  channels: readonly NoticeChannel[],
): Promise<void> {
  for (const channel of channels) await em.nativeDelete(ApplicationNotice, { applicationId, channel })
  for (const channel of channels) await em.nativeDelete(ApplicationReceiver, { applicationId, channel })
}

/** Whoever changes or tries a receiver does not wait for the end of its back-off. */
export async function tryNow(em: EntityManager, applicationId: string, channels: readonly NoticeChannel[]) {
  for (const channel of channels) {
    await em.nativeUpdate(ApplicationReceiver, { applicationId, channel }, { nextAt: null })
  }
}
