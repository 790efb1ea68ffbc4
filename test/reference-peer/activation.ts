import { runInBackground } from './instance.ts'
import type { Instance, Peer } from './instance.ts'
import { refreshStubs } from './lookups.ts'
import { hostOf } from './origins.ts'
import { changeStatus, learnInstanceId } from './peering.ts'
import { presenceUpdateEvent } from './profiles.ts'
import { enqueueFor } from './queue.ts'
import { syncWith } from './sync.ts'
import { nativeUsers, settleMarkedUsers } from './users.ts'

type Handshake = { secret?: string; instanceId: string | null; instanceName: string | null }

/** The end of a handshake, begun by either side. What follows goes its own way in the background. wire: 2.6, 2.7 */
export function activate(instance: Instance, peer: Peer, handshake: Handshake): void {
  changeStatus(instance, peer, 'active')
  if (handshake.secret !== undefined) Object.assign(peer, { secret: handshake.secret, newSecret: null })
  learnInstanceId(peer, handshake.instanceId)
  peer.instanceName = handshake.instanceName ?? peer.instanceName
  peer.approvalToken = null
  peer.rotatedAt = instance.now()
  peer.failedDeliveries = 0
  peer.refusedDeliveries = 0
  for (const queued of instance.outbox) {
    if (queued.origin === peer.origin) Object.assign(queued, { attempts: 0, nextAttemptAt: instance.now() })
  }
  const host = hostOf(peer.origin)
  if (host !== null && handshake.instanceId !== null) settleMarkedUsers(instance, host, handshake.instanceId)
  runInBackground(instance, () => catchUp(instance, peer))
}

/** Three syncs, by-home-id for nameless stubs, then presence. No failure counts against the peer. wire: 2.7 */
async function catchUp(instance: Instance, peer: Peer): Promise<void> {
  await syncWith(instance, peer)
  await refreshStubs(instance, peer)
  if (instance.peers.get(peer.origin) !== peer) return
  for (const user of nativeUsers(instance)) {
    if (user.status !== 'offline') enqueueFor(instance, peer.origin, presenceUpdateEvent(instance, user))
  }
}
