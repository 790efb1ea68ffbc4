import { read } from '@gatehouse/database'
import type { Peer } from '@gatehouse/domain'
import { remotePresenceReported } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'

export type PresenceReport = { homeUserId: string; host: string; status: 'online' | 'offline' }

/** Never stored. Ends by time. Contract: 6. */
export async function reportPresences(
  { orm, bus, clock }: Pick<Deps, 'orm' | 'bus' | 'clock'>,
  { host }: Peer,
  { reports, requestId }: { reports: readonly PresenceReport[]; requestId: string | undefined },
): Promise<void> {
  if (reports.length === 0) return
  const latest = new Map(reports.map(({ homeUserId, status }) => [homeUserId, status]))
  const users = await read<{ id: string; homeUserId: string }>(
    orm.em.fork(),
    `select id::text as id, home_user_id as "homeUserId" from users
     where home_instance = ? and home_user_id in (select jsonb_array_elements_text(?::jsonb)) and not is_deleted`,
    [host, JSON.stringify([...latest.keys()])],
  )
  const until = clock.now() + policy.presenceLifetimeMs
  for (const { id: userId, homeUserId } of users) {
    const report = { userId, status: latest.get(homeUserId) ?? 'offline', until }
    void bus.publish(remotePresenceReported, report, { requestId })
  }
}
