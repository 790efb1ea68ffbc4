import type { Peer } from '@gatehouse/domain'
import type { z } from 'zod'
import type { relayBody } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { noteInstance } from '../maintenance/sync-peer.ts'
import { isOtherInstance } from '../maintenance/probe-peer.ts'
import { receiveEvents, type RelayReply } from '../relay/receive-events.ts'

type Input = z.infer<typeof relayBody> & { requestId?: string | undefined }

/** Another instanceId parks the peer. Throws peer_unknown. federation-wire.md 2.6, 3. */
export async function relayEvents(deps: Deps, peer: Peer, input: Input): Promise<RelayReply> {
  const { sourceInstanceId, events, requestId } = input
  if (sourceInstanceId && sourceInstanceId !== peer.instanceId) {
    await noteInstance(deps, peer.origin, { instanceId: sourceInstanceId, requestId })
  }
  if (isOtherInstance(peer, sourceInstanceId)) throw refuse.peer_unknown()
  return await receiveEvents(deps, peer, { events, requestId })
}
