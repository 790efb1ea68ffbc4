import { call, isSuccess } from './calls.ts'
import { requireSigned } from './checks.ts'
import { textField } from './fields.ts'
import type { Instance, Peer } from './instance.ts'
import { outcome } from './peering.ts'
import type { Outcome } from './peering.ts'
import { refused, reply } from './replies.ts'
import type { ReceivedRequest, Reply } from './replies.ts'

const gracePeriodMs = 15 * 60_000
const dayMs = 24 * 60 * 60_000

/** From active peers; no nonce is looked at; one rotation at a time. wire: 2.8 */
export function answerRotate(instance: Instance, request: ReceivedRequest): Reply {
  const peer = requireSigned(instance, request, { ignoresNonce: true })
  const newSecret = textField(request.body, 'newSecret')
  if (newSecret === null || !/^[0-9a-f]{64}$/.test(newSecret)) throw refused(400, 'newSecret is refused')
  if (peer.newSecret !== null) throw refused(409, 'A rotation is running')
  keepBoth(instance, peer, newSecret)
  return reply(200, { accepted: true, gracePeriodMs })
}

/** Signed with the old secret. After anything but a 2xx nothing has changed. wire: 2.8 */
export async function rotatePeer(instance: Instance, origin: string): Promise<Outcome> {
  const peer = instance.peers.get(origin)
  if (!peer) return outcome(404, { error: 'No such peer' })
  if (peer.status !== 'active') return outcome(409, { error: `The peer is ${peer.status}` })
  if (peer.newSecret !== null) return outcome(409, { error: 'A rotation is running' })
  const newSecret = instance.newSecret()
  const request = { origin, method: 'POST', path: '/api/federation/peer/rotate', body: { newSecret } } as const
  const timeoutMs = instance.timeoutsMs.message
  const answer = await call(instance, { ...request, secret: peer.secret, timeoutMs })
  if (!isSuccess(answer)) return outcome(502, { error: answer.failure ?? `HTTP ${answer.status}` })
  keepBoth(instance, peer, newSecret)
  return outcome(200, { success: true })
}

function keepBoth(instance: Instance, peer: Peer, newSecret: string): void {
  const now = instance.now()
  Object.assign(peer, { newSecret, newSecretTakenUntil: now + gracePeriodMs, rotatedAt: now })
}

/** Every 15 minutes: a rotation whose grace is over ends, and due ones begin. wire: 2.8 */
export async function rotationTick(instance: Instance): Promise<void> {
  const now = instance.now()
  for (const peer of instance.peers.values()) {
    if (peer.newSecret === null || now < peer.newSecretTakenUntil) continue
    Object.assign(peer, { secret: peer.newSecret, newSecret: null })
  }
  const isDue = (peer: Peer) =>
    peer.status === 'active' && peer.newSecret === null && now - peer.rotatedAt >= peer.autoRotateIntervalDays * dayMs
  const due = [...instance.peers.values()].filter(isDue)
  await Promise.all(due.map((peer) => rotatePeer(instance, peer.origin)))
}
