import type { Subscription } from '@gatehouse/bus'
import { durableEvents } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { notifyAdminWatchers, updateAccountState } from './admin-watch.ts'

/** Contract: 6, watch. */
export async function subscribeAdminChanges(
  deps: Pick<Deps, 'bus' | 'sessions' | 'sessionMetrics'>,
): Promise<Subscription> {
  return await deps.bus.subscribe(durableEvents, async (event) => {
    if (event.name === 'SettingsChanged') return notifyAdminWatchers(deps, { what: 'settings' })
    if (event.name === 'PeerChanged') return notifyAdminWatchers(deps, { what: 'peers' })
    const { payload } = event
    if ('inviteId' in payload) return notifyAdminWatchers(deps, { what: 'invites', id: payload.inviteId })
    updateAccountState(deps, payload.state)
    notifyAdminWatchers(deps, { what: 'users', id: payload.userId })
  })
}
