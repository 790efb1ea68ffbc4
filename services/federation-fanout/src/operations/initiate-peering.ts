import { loadInstanceSettings, recordAudit, type Peer } from '@gatehouse/domain'
import type { Actor, Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { activatePending, newPeer } from '../handshake/activate.ts'
import { postOffer, type OfferAnswer } from '../handshake/post-offer.ts'
import { proveSecret, unproven } from '../handshake/prove-secret.ts'
import { readPeerOrigin } from '../peers/read-peer-origin.ts'
import { withPeer } from '../peers/with-peer.ts'
import { policy } from '../policy.ts'

type Input = { remoteOrigin: string; actor: Actor; requestId?: string | undefined }

/**
 * Offers another instance to be peers: pending first, so that its proof finds the secret here, active once its own
 * proof has held. Stays pending when its admin has to decide. Throws origin_invalid, origin_is_own, peer_exists,
 * remote_unreachable, remote_refused, remote_unproven, remote_clock, handshake_overtaken. Contract: 7, handshake.
 */
export async function initiatePeering(deps: Deps, input: Input): Promise<Peer> {
  const origin = readPeerOrigin(deps.config, input.remoteOrigin)
  const { instanceName, instanceId } = await loadInstanceSettings(deps.orm.em.fork())
  const { peer, isNew } = await beginOffer(deps, origin, input.actor)
  const answer = await postOffer(deps, peer, { instanceName, instanceId, requestId: input.requestId })
  const isKnownThere = answer.kind === 'accepted' || answer.kind === 'conflict'
  if (isKnownThere) return await completeHandshake(deps, peer, { answer, requestId: input.requestId })
  const left = await endOffer(deps, peer, { forget: isNew && answer.kind === 'forbidden' })
  if (answer.kind === 'queued') return left
  if (answer.kind === 'forbidden') throw refuse.origin_invalid()
  if (answer.kind === 'unreachable') throw unproven('unreachable')
  throw remoteRefusal(answer)
}

/**
 * A pending peer keeps the secret that it may have been offered before: the other side may hold it already, although
 * its answer was lost.
 */
async function beginOffer(deps: Deps, origin: string, actor: Actor): Promise<{ peer: Peer; isNew: boolean }> {
  return await withPeer(deps, origin, async (em, known) => {
    if (known?.status === 'active') throw refuse.peer_exists()
    const now = new Date(deps.clock.now())
    const peer = known ?? (await newPeer(em, origin, now))
    peer.offer(known?.status === 'pending' ? known.secret : newSecret(deps), now)
    recordAudit(em, {
      action: 'peer.initiated',
      actor,
      target: { type: 'peer', id: peer.id },
      detail: { origin },
      at: now,
    })
    await em.flush()
    return { peer, isNew: !known }
  })
}

type Answered = { answer: Extract<OfferAnswer, { kind: 'accepted' | 'conflict' }>; requestId: string | undefined }

/**
 * The other side has accepted, or has a peer of our origin already. Either way its proof decides: it may have taken this
 * secret at an earlier attempt, or its own offer may have crossed ours and made us peers meanwhile.
 */
async function completeHandshake(deps: Deps, offered: Peer, { answer, requestId }: Answered): Promise<Peer> {
  const { origin, secret } = offered
  const proof = await proveSecret(deps, { origin, secret }, requestId)
  const instanceName = answer.kind === 'accepted' ? answer.instanceName : null
  if (proof.proven) return await activatePending(deps, { origin, secret, instanceName, instanceId: proof.instanceId })
  const left = await endOffer(deps, offered)
  if (left.status === 'active') return left
  if (answer.kind === 'accepted') throw unproven(proof.reason)
  if (answer.code === 'HANDSHAKE_CROSSED') return left
  throw remoteRefusal(answer)
}

/** The peer as it is now, not under way any more if it still waits with our secret; or forgotten. */
async function endOffer(deps: Deps, offered: Peer, { forget = false } = {}): Promise<Peer> {
  return await withPeer(deps, offered.origin, async (em, peer) => {
    if (!peer) throw refuse.handshake_overtaken()
    if (peer.status !== 'pending' || peer.secret !== offered.secret) return peer
    peer.offeredAt = null
    if (forget) em.remove(peer)
    await em.flush()
    return peer
  })
}

function remoteRefusal({ code, message }: Extract<OfferAnswer, { code: unknown }>) {
  const known = code === 'PEER_EXISTS_RESET_REQUIRED' ? { code } : {}
  return refuse.remote_refused({ message: `The other instance refused: ${message}`, fields: known })
}

/** In hexadecimal, which every implementation reads alike. */
function newSecret({ random }: Pick<Deps, 'random'>): string {
  return random.bytes(policy.secretBytes).toString('hex')
}
