import { limits } from '@gatehouse/contracts'
import { read } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'

/** Of the last 30 days. What is revoked counts. */
export async function readQuota({ clock }: Pick<Deps, 'clock'>, em: EntityManager, userId: string) {
  const sql = `select (select member_invites from instance_settings where id = 1) as allowed,
    (select count(*)::int from invites where created_by = ? and by_member and created_at > ?) as made`
  const since = new Date(clock.now() - limits.memberInvitesWindowMs)
  const [quota = { allowed: 0, made: 0 }] = await read<{ allowed: number; made: number }>(em, sql, [userId, since])
  return quota
}
