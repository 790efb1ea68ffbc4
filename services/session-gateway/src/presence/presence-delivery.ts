import type { PresenceMessage } from '@gatehouse/contracts'
import { LRUCache } from 'lru-cache'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import { encodeMessage, sendText } from '../socket/send-text.ts'
import type { PresenceChange } from './presence-store.ts'

/** A change, and the users on this node who see it. */
export type Delivery = PresenceChange & { recipients: readonly string[] }

/** Sends a change to its recipients on this node, unless a newer one was delivered. Contract: 6, presence_update. */
export type PresenceDelivery = (delivery: Delivery) => void

/** Two nodes may publish changes of one user at the same time, and the older may arrive later. */
export function createPresenceDelivery(
  deps: Pick<Deps, 'sessions' | 'sessionMetrics' | 'remotePresences'>,
): PresenceDelivery {
  const versions = new LRUCache<string, number>({ max: policy.rememberedVersions })
  return (delivery) => {
    const { userId, status, version } = delivery
    // The parts of one change have the same version.
    if (version < (versions.get(userId) ?? -1)) return
    versions.set(userId, version)
    // Connected no longer here, but still at the home instance.
    if (status === 'offline' && deps.remotePresences.isOnline(userId)) return
    sendPresence(deps, delivery)
  }
}

/**
 * Sends a `presence_update` to users on this node. A socket before its `ready` gets it after that; not one of the user
 * itself, whose `ready` tells it.
 */
export function sendPresence(
  deps: Pick<Deps, 'sessions' | 'sessionMetrics'>,
  { userId, status, recipients }: Omit<Delivery, 'version'>,
): void {
  const message = encodeMessage({ type: 'presence_update', userId, status } satisfies PresenceMessage)
  for (const recipient of recipients) {
    for (const socket of deps.sessions.find(recipient)?.sockets ?? []) {
      if (socket.phase === 'ready') sendText(deps, socket, message)
      else if (recipient !== userId) (socket.backlog ??= []).push(message)
    }
  }
}
