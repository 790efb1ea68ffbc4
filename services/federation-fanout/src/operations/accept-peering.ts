import type { acceptPeerBody } from '@gatehouse/contracts'
import { ApprovalRequest, loadInstanceSettings, nextId, type Peer } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { activate, type Proven } from '../handshake/activate.ts'
import { isOffering, winsTieBreak } from '../handshake/offer.ts'
import { proveSecret } from '../handshake/prove-secret.ts'
import { readPeerOrigin } from '../peers/read-peer-origin.ts'
import { readableText } from '../peers/remote-json.ts'
import { withPeer } from '../peers/with-peer.ts'

type Input = z.infer<typeof acceptPeerBody> & { requestId?: string | undefined }
type Acceptance = { accepted: true; instanceName: string; instanceId: string } | { accepted: false; pending: true }

/**
 * Takes the offer of an instance that proves to have made it: at once when the settings say so or an admin here has
 * asked it first, else it waits for an admin. Nothing is kept of an offer that is not proven. Throws origin_invalid,
 * origin_is_own, peer_exists, handshake_crossed, origin_not_proven. Contract: 7, handshake.
 */
export async function acceptPeering(deps: Deps, input: Input): Promise<Acceptance> {
  const origin = readPeerOrigin(deps.config, input.sourceOrigin)
  const offer = { origin, secret: input.hmacSecret }
  await withPeer(deps, origin, async (_em, peer) => refuseKnown(deps, origin, peer))
  const proof = await proveSecret(deps, offer, input.requestId)
  if (!proof.proven) throw refuse.origin_not_proven({ fields: { accepted: false } })
  const proven = { ...offer, instanceName: input.instanceName, instanceId: proof.instanceId }
  return await withPeer(deps, origin, async (em, peer) => {
    refuseKnown(deps, origin, peer)
    const settings = await loadInstanceSettings(em)
    const now = new Date(deps.clock.now())
    if (!settings.autoAcceptPeering && peer?.status !== 'pending') {
      await queue(em, proven, now)
      return { accepted: false, pending: true }
    }
    await activate(em, peer, proven, now)
    return { accepted: true, instanceName: settings.instanceName, instanceId: settings.instanceId }
  })
}

/** An active peer keeps its secret; of two offers that cross, one is refused, the same at both ends. */
function refuseKnown({ clock, config }: Deps, origin: string, peer: Peer | null): void {
  if (peer?.status === 'active') {
    throw refuse.peer_exists({ fields: { accepted: false, code: 'PEER_EXISTS_RESET_REQUIRED' } })
  }
  if (peer && isOffering(peer, clock.now()) && winsTieBreak(config.publicAddress.origin, origin)) {
    throw refuse.handshake_crossed({ fields: { accepted: false, code: 'HANDSHAKE_CROSSED' } })
  }
}

/** One request waits for each origin, with the secret that it proved last. */
async function queue(em: EntityManager, proven: Proven, now: Date): Promise<void> {
  const { origin, secret } = proven
  const waiting = await em.findOne(ApprovalRequest, { sourceOrigin: origin, status: 'pending' })
  const names = {
    instanceName: proven.instanceName ? readableText(proven.instanceName) : null,
    instanceId: proven.instanceId ? readableText(proven.instanceId) : null,
  }
  if (waiting) em.assign(waiting, { secret, ...names })
  else em.create(ApprovalRequest, { id: await nextId(em), sourceOrigin: origin, secret, ...names, createdAt: now })
  await em.flush()
}
