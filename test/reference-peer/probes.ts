import { call, isSuccess } from './calls.ts'
import type { Answer } from './calls.ts'
import { textField } from './fields.ts'
import { runInBackground } from './instance.ts'
import type { AttentionReason, Instance, Peer } from './instance.ts'
import { changeStatus, outcome, park, parkIfReset } from './peering.ts'
import type { Outcome } from './peering.ts'
import { hasQueuedEvents } from './queue.ts'
import { reply } from './replies.ts'
import type { Reply } from './replies.ts'

const longestName = 32

/** wire: 5 */
export function answerInfo(instance: Instance): Reply {
  const { registrationOpen, federatedRegistrationOpen } = instance.settings
  return reply(200, {
    name: shownName(instance),
    version: '1.0.0',
    registrationOpen,
    federatedRegistrationOpen,
    instanceId: instance.instanceId,
    sourceCodeUrl: `${instance.origin}/source`,
    commit: null,
  })
}

export function shownName(instance: Instance): string {
  return instance.instanceName.slice(0, longestName)
}

/** Users of that host are shown offline, and the first probe goes out at once. wire: 2.7 */
export async function fallUnreachable(instance: Instance, peer: Peer): Promise<void> {
  changeStatus(instance, peer, 'unreachable')
  peer.failedProbes = 0
  await probeUnreachable(instance, peer)
}

export async function probeWhenDue(instance: Instance, peer: Peer): Promise<void> {
  if (instance.now() >= peer.nextProbeAt) await probeUnreachable(instance, peer)
}

/** Any 2xx with the known instanceId, or none, makes it active again and clears the backoff. wire: 2.7 */
async function probeUnreachable(instance: Instance, peer: Peer): Promise<void> {
  const answer = await askInfo(instance, peer)
  if (peer.status !== 'unreachable') return
  if (!isSuccess(answer)) {
    peer.nextProbeAt = instance.now() + probeDelay(instance, peer)
    peer.failedProbes += 1
    return
  }
  if (parkIfReset(instance, peer, textField(answer.body, 'instanceId'))) return
  changeStatus(instance, peer, 'active')
  Object.assign(peer, { failedDeliveries: 0, refusedDeliveries: 0 })
  for (const queued of instance.outbox) {
    if (queued.origin === peer.origin) Object.assign(queued, { attempts: 0, nextAttemptAt: instance.now() })
  }
}

function probeDelay(instance: Instance, peer: Peer): number {
  const delays = instance.probeDelaysMs
  const longest = delays.at(-1) ?? 0
  return hasQueuedEvents(instance, peer.origin) ? (delays[peer.failedProbes] ?? longest) : longest
}

async function askInfo(instance: Instance, { origin }: Peer): Promise<Answer> {
  const timeoutMs = instance.timeoutsMs.message
  return await call(instance, { origin, method: 'GET', path: '/api/instance/info', timeoutMs })
}

/** A peer that enters needs_attention is probed for its instanceId. wire: 2.6 */
export function parkAndProbe(instance: Instance, peer: Peer, reason: AttentionReason): void {
  park(instance, peer, reason)
  runInBackground(instance, () => probeParked(instance, peer))
}

async function probeParked(instance: Instance, peer: Peer): Promise<void> {
  const answer = await askInfo(instance, peer)
  if (peer.status !== 'needs_attention' || !isSuccess(answer)) return
  parkIfReset(instance, peer, textField(answer.body, 'instanceId'))
}

/** At start and every 15 minutes. wire: 2.6 */
export async function probeAllParked(instance: Instance): Promise<void> {
  const parked = [...instance.peers.values()].filter((peer) => peer.status === 'needs_attention')
  await Promise.all(parked.map((peer) => probeParked(instance, peer)))
}

/** The page names this act of an admin and no more; here it is the probe of its state, made now. */
export async function recheckPeer(instance: Instance, origin: string): Promise<Outcome> {
  const peer = instance.peers.get(origin)
  if (!peer) return outcome(404, { error: 'No such peer' })
  if (peer.status === 'unreachable') await probeUnreachable(instance, peer)
  else if (peer.status === 'needs_attention') await probeParked(instance, peer)
  else return outcome(409, { error: `The peer is ${peer.status}` })
  return outcome(200, { status: peer.status })
}
