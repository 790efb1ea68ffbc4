import type { Peer } from '@gatehouse/domain'
import type { z } from 'zod'
import type { relayBody } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { noteInstance } from '../maintenance/sync-peer.ts'
import { isOtherInstance } from '../maintenance/probe-peer.ts'
import { receiveEvents, type RelayReply } from '../relay/receive-events.ts'

/**
 * Takes the events that a peer relays. Another instanceId than the known one parks the peer, because the instance behind
 * the origin was lost. Throws peer_unknown. federation-wire.md 2.6, 3.
 */
export async function relayEvents(deps: Deps, peer: Peer, input: z.infer<typeof relayBody>): Promise<RelayReply> {
  const { sourceInstanceId, events } = input
  if (sourceInstanceId && sourceInstanceId !== peer.instanceId) await noteInstance(deps, peer.origin, sourceInstanceId)
  if (isOtherInstance(peer, sourceInstanceId)) throw refuse.peer_unknown()
  return await receiveEvents(deps, peer, events)
}
