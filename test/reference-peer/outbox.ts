import { call, isSuccess } from './calls.ts'
import { field, textField } from './fields.ts'
import type { Instance, Peer, QueuedEvent } from './instance.ts'
import { offerPlaceholder } from './offers.ts'
import { fallUnreachable, parkAndProbe, probeWhenDue } from './probes.ts'
import { dropExpiredEvents, hasQueuedEvents } from './queue.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** Each event's own waiting times; the last one repeats. wire: 2.7 */
const backoffMs = [minuteMs / 2, minuteMs, 5 * minuteMs, 15 * minuteMs, hourMs, 6 * hourMs, 24 * hourMs]
const mostEvents = 50
const failuresUntilUnreachable = 10
const refusalsUntilAttention = 5

/** Reasons that end an event. Any other, or no mention, and it is sent again on the next tick. wire: 3, relay */
const finalReasons = [
  'duplicate',
  'recipient_not_found',
  'attribution_mismatch',
  'unknown_event_type',
  'self_target_invalid',
]

/** What happens every second: offers of placeholders, deliveries, probes that are due. wire: 2.1, 2.7 */
export async function outboxTick(instance: Instance): Promise<void> {
  dropExpiredEvents(instance)
  await Promise.all([...instance.peers.values()].map((peer) => servePeer(instance, peer)))
}

/** A peer that an earlier tick is still busy with is left alone. */
async function servePeer(instance: Instance, peer: Peer): Promise<void> {
  if (instance.inService.has(peer.origin)) return
  instance.inService.add(peer.origin)
  try {
    const isKept = instance.generation === 2 || hasQueuedEvents(instance, peer.origin)
    const isOffered = peer.status === 'pending' && peer.placeholder && isKept
    if (isOffered) await offerPlaceholder(instance, peer)
    else if (peer.status === 'active') await deliverDue(instance, peer)
    else if (peer.status === 'unreachable') await probeWhenDue(instance, peer)
  } finally {
    instance.inService.delete(peer.origin)
  }
}

async function deliverDue(instance: Instance, peer: Peer): Promise<void> {
  const now = instance.now()
  const due = instance.outbox.filter((queued) => queued.origin === peer.origin && queued.nextAttemptAt <= now)
  const batch = due.slice(0, mostEvents)
  if (batch.length === 0) return
  const body = {
    version: 1,
    sourceInstance: instance.origin,
    sourceInstanceId: instance.instanceId,
    events: batch.map((queued) => queued.event),
  }
  const request = { origin: peer.origin, method: 'POST', path: '/api/federation/relay', body } as const
  const secret = peer.newSecret ?? peer.secret
  const answer = await call(instance, { ...request, secret, timeoutMs: instance.timeoutsMs.relay })
  if (instance.stopping.signal.aborted || instance.peers.get(peer.origin) !== peer) return
  if (isSuccess(answer)) return settleBatch(instance, peer, { batch, body: answer.body })
  postpone(instance, batch)
  await countFailure(instance, peer, answer.status)
}

function settleBatch(instance: Instance, peer: Peer, { batch, body }: { batch: QueuedEvent[]; body: unknown }): void {
  Object.assign(peer, { failedDeliveries: 0, refusedDeliveries: 0 })
  const [accepted, rejected] = [field(body, 'accepted'), field(body, 'rejected')]
  if (!Array.isArray(accepted) || !Array.isArray(rejected)) return
  const ended = new Set<unknown>(accepted)
  for (const entry of rejected) {
    if (finalReasons.includes(textField(entry, 'reason') ?? '')) ended.add(textField(entry, 'messageId'))
  }
  instance.outbox = instance.outbox.filter((queued) => !batch.includes(queued) || !ended.has(queued.event.messageId))
}

function postpone(instance: Instance, batch: QueuedEvent[]): void {
  for (const queued of batch) {
    const wait = backoffMs[queued.attempts] ?? backoffMs.at(-1) ?? 0
    queued.attempts += 1
    queued.nextAttemptAt = instance.now() + wait
  }
}

/** Two counters, which only a 2xx clears. wire: 2.1 */
async function countFailure(instance: Instance, peer: Peer, status: number): Promise<void> {
  if (status === 401 || status === 403) {
    peer.refusedDeliveries += 1
    const isParked = peer.refusedDeliveries >= refusalsUntilAttention && peer.status === 'active'
    if (isParked) parkAndProbe(instance, peer, 'deliveries_refused')
    return
  }
  peer.failedDeliveries += 1
  const isLost = peer.failedDeliveries >= failuresUntilUnreachable && peer.status === 'active'
  if (isLost) await fallUnreachable(instance, peer)
}
