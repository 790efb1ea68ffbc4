import type { Instance, QueuedEvent, RelayEvent } from './instance.ts'
import { parsePeerOrigin } from './origins.ts'
import { putPeer } from './peering.ts'

const expiryMs = 30 * 24 * 60 * 60_000
const queueing = ['pending', 'active', 'unreachable']

/** Queues for one origin. An unknown one becomes a placeholder, whatever autoAcceptPeering says. wire: 2.1, 2.3 */
export function enqueueFor(instance: Instance, originText: string, event: RelayEvent): void {
  const origin = parsePeerOrigin(originText)
  if (origin === null || origin === parsePeerOrigin(instance.origin)) return
  const secret = () => instance.newSecret()
  const peer =
    instance.peers.get(origin) ?? putPeer(instance, origin, { status: 'pending', placeholder: true, secret: secret() })
  if (queueing.includes(peer.status)) putEvent(instance, origin, event)
}

/** To every peer that is active, pending or unreachable. wire: 3, relay */
export function enqueueForAll(instance: Instance, event: RelayEvent): void {
  for (const peer of instance.peers.values()) {
    if (queueing.includes(peer.status)) putEvent(instance, peer.origin, event)
  }
}

/** Profile and presence of one user share a slot for each peer: the later overwrites the earlier. wire: 3, relay */
function putEvent(instance: Instance, origin: string, event: RelayEvent): void {
  const now = instance.now()
  const isSameSlot = (queued: QueuedEvent) =>
    queued.origin === origin &&
    event.contextType === 'profile' &&
    queued.event.contextType === 'profile' &&
    queued.event.messageId === event.messageId
  instance.outbox = instance.outbox.filter((queued) => !isSameSlot(queued))
  instance.outbox.push({ origin, event, queuedAt: now, attempts: 0, nextAttemptAt: now, expiresAt: now + expiryMs })
}

export function dropExpiredEvents(instance: Instance): void {
  const now = instance.now()
  instance.outbox = instance.outbox.filter((queued) => queued.expiresAt > now)
}

export function hasQueuedEvents(instance: Instance, origin: string): boolean {
  return instance.outbox.some((queued) => queued.origin === origin)
}
