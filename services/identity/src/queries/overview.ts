import { limits } from '@gatehouse/contracts'
import { read } from '@gatehouse/database'
import { version } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { dayMs } from './days.ts'
import { countUsers } from './list-users.ts'
import { loadSettings } from './load-settings.ts'

/** What an admin sees first. Each count ends at a bound. Contract: 5, Overview; Design: invariant 13. */
export async function overview({ orm, clock, config }: Pick<Deps, 'orm' | 'clock' | 'config'>) {
  const now = clock.now()
  const firstDay = new Date(now - (now % dayMs) - (limits.overviewDays - 1) * dayMs)
  const [{ total, ...exactness }, settings, [counts], registrations] = await Promise.all([
    countUsers(orm.em.fork(), { sql: 'not u.is_deleted', values: [] }),
    loadSettings(orm.em),
    read<Counts>(orm.em.fork(), countsSql),
    read<{ day: string; count: number }>(orm.em.fork(), registrationsSql, [firstDay]),
  ])
  if (!counts) throw new Error('the database counts nothing')
  const { admins, invites, ...others } = counts
  const firstSteps = {
    isNamed: settings.instanceName !== limits.instanceNameDefault,
    isRegistrationDecided: settings.registrationOpen !== null,
    hasInvited: invites > 0 || total > 1,
    hasSecondAdmin: admins > 1,
    hasReservedUsernames: settings.reservedUsernames.length > 0,
  }
  const { origin: publicOrigin } = config.publicAddress
  return { version, publicOrigin, accounts: { total, ...exactness }, ...others, registrations, firstSteps }
}

type OverviewCount =
  'online' | 'waitingApprovals' | 'pendingRegistrations' | 'peersInTrouble' | 'ordersOverdue' | 'admins' | 'invites'
type Counts = Record<OverviewCount, number>

const count = (rows: string, most: number) => `(select count(*)::int from (select ${rows} limit ${most}) as counted)`
const { overviewMax, onlineMax } = limits

const countsSql = `select
  ${count('from presences group by user_id order by user_id', onlineMax)} as online,
  ${count(`from approval_requests where status = 'pending'`, overviewMax)} as "waitingApprovals",
  ${count('from registrations where username is not null and denied_at is null', overviewMax)} as "pendingRegistrations",
  ${count(`from peers where status in ('unreachable', 'needs_attention')`, overviewMax)} as "peersInTrouble",
  ${count(`from deletion_orders where state = 'overdue'`, overviewMax)} as "ordersOverdue",
  ${count('from users where is_admin and not is_deleted', 2)} as admins,
  ${count('from invites', 1)} as invites`

/** Accounts of this instance, those that were deleted since too. */
const registeredSql = `from users where home_instance is null and created_at >= day and created_at < day + interval '24 hours'`
const registrationsSql = `
  select to_char(day at time zone 'UTC', 'YYYY-MM-DD') as day, ${count(registeredSql, overviewMax)} as count
  from (select ?::timestamptz + n * interval '24 hours' as day from generate_series(0, ${limits.overviewDays - 1}) as n) as days
  order by days.day`
