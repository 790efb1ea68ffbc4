import { profileChanged } from '@gatehouse/contracts'
import { changeRows } from '@gatehouse/database'
import { Peer } from '@gatehouse/domain'
import type { Subscription } from '@gatehouse/bus'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import { findInstances, findNativeUser } from '../queries/native-users.ts'

/** Contract: 7. */
export async function consumeProfileChanges(deps: Deps): Promise<Subscription> {
  return await deps.bus.subscribe(
    profileChanged,
    async ({ payload }) => {
      if (await enqueueProfile(deps, payload.userId)) void deps.maintenance.runNow()
    },
    { group: 'federation-profiles' },
  )
}

/** One slot for each peer and user. Sends the profile of the time of sending. Returns how many peers. */
export async function enqueueProfile(deps: Pick<Deps, 'orm' | 'clock'>, userId: string): Promise<number> {
  const em = deps.orm.em.fork()
  const user = await findNativeUser(em, { id: userId })
  if (!user) return 0
  const origins = [...((await findInstances(em, [user])).get(user.id) ?? [])]
  const peers = await em.find(Peer, { origin: { $in: origins }, status: { $nin: ['rejected', 'revoked'] } })
  const now = deps.clock.now()
  const times = [user.profileUpdatedAt, new Date(now), new Date(now + policy.deliveryLifetimeMs)]
  for (const peer of peers) {
    await changeRows(
      em,
      `insert into federation_deliveries (peer_id, user_id, version, next_attempt_at, expires_at) values (?, ?, ?, ?, ?)
       on conflict (peer_id, user_id) do update set version = greatest(federation_deliveries.version, excluded.version),
         attempts = 0, next_attempt_at = excluded.next_attempt_at, expires_at = excluded.expires_at`,
      [peer.id, user.id, ...times],
    )
  }
  return peers.length
}
