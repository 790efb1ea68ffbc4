import type { Peer } from '@gatehouse/domain'
import type { z } from 'zod'
import type { relayBody } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { noteInstance } from '../maintenance/sync-peer.ts'
import { isOtherInstance } from '../maintenance/probe-peer.ts'
import { normalizeSignedOrigin } from '../peers/signature.ts'
import { receiveEvents, type RelayReply } from '../relay/receive-events.ts'

type Input = z.infer<typeof relayBody> & { requestId?: string | undefined }

/**
 * Another instanceId parks the peer. Who names no source is the signer. Throws source_mismatch, peer_unknown.
 * federation-wire.md 2.6, 3; federation-wire-2.md 2.4.
 */
export async function relayEvents(deps: Deps, peer: Peer, input: Input): Promise<RelayReply> {
  const { sourceInstance, sourceInstanceId, events, requestId } = input
  if (sourceInstance !== undefined && normalizeSignedOrigin(sourceInstance) !== peer.origin) {
    throw refuse.source_mismatch()
  }
  if (sourceInstanceId && sourceInstanceId !== peer.instanceId) {
    await noteInstance(deps, peer.origin, { instanceId: sourceInstanceId, requestId })
  }
  if (isOtherInstance(peer, sourceInstanceId)) throw refuse.peer_unknown()
  return await receiveEvents(deps, peer, { events, requestId })
}
