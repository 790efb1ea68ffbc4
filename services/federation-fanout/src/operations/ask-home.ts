import { attachProofReply, byHomeIdReply, endpoints, pictureFields } from '@gatehouse/contracts'
import type { checkHomeEpoch, lookUpByHomeId, RemoteUser, verifyAttachProof } from '@gatehouse/contracts'
import { Peer, strangerStatuses } from '@gatehouse/domain'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { proveSecret, type HandshakeDeps } from '../handshake/prove-secret.ts'
import { jsonOf, sendToPeer, tryExchange, verifySignedAnswer, type SendDeps } from '../peers/exchange.ts'
import { findFormerInstance, isOtherInstance, noteInstance } from '../peers/peer-states.ts'
import { hostOf } from '../peers/signature.ts'
import { policy } from '../policy.ts'

/** `unknown`: a stranger, or no instanceId is known. Another instance parks the peer. Contract: 7, Login repair. */
export async function checkHome(
  deps: HandshakeDeps,
  { host, timeoutMs, requestId }: z.infer<typeof checkHomeEpoch.request> & { requestId?: string | undefined },
): Promise<z.infer<typeof checkHomeEpoch.reply>> {
  const homes = await findKnownHomes(deps, hostOf(host))
  if (homes.length === 0) return { outcome: 'unknown' }
  const endsAt = performance.now() + timeoutMs
  for (const { peer, instanceId } of homes) {
    const secrets = peer.secretsAt(deps.clock.now())
    const proof = await proveSecret(deps, { origin: peer.origin, secrets, endsAt })
    if (!proof.proven) continue
    if (!isOtherInstance({ instanceId }, proof.instanceId)) return { outcome: 'same' }
    await noteInstance(deps, peer.origin, { instanceId: proof.instanceId, requestId })
    return { outcome: 'changed' }
  }
  return { outcome: 'unverified' }
}

/** An active peer may not have said its instanceId yet: the former one counts. */
async function findKnownHomes({ orm }: Pick<Deps, 'orm'>, host: string): Promise<{ peer: Peer; instanceId: string }[]> {
  const em = orm.em.fork()
  const peers = await em.find(Peer, { host, status: { $nin: [...strangerStatuses] } })
  const homes = peers.map(async (peer) => {
    const instanceId = peer.instanceId ?? (await findFormerInstance(em, peer.origin))
    return instanceId ? [{ peer, instanceId }] : []
  })
  return (await Promise.all(homes)).flat()
}

/** Asks the home for the name and profile behind a homeUserId. protocol.md 4.3. */
export async function askByHomeId(
  deps: SendDeps & Pick<Deps, 'orm'>,
  { host, homeUserId }: z.infer<typeof lookUpByHomeId.request>,
): Promise<z.infer<typeof lookUpByHomeId.reply>> {
  const peer = await activePeerOf(deps, host)
  if (!peer) return { outcome: 'no_peer' }
  const message = { endpoint: endpoints.lookUpByHomeId, body: { homeUserId }, timeoutMs: policy.messageTimeoutMs }
  const exchange = await tryExchange(sendToPeer(deps, peer, message))
  const said = exchange?.answer.status === 200 ? byHomeIdReply.safeParse(jsonOf(exchange.answer)).data : undefined
  if (!said) return { outcome: 'unreachable' }
  if (!said.found || said.user.homeUserId !== homeUserId) return { outcome: 'not_found' }
  const { username, profile } = said.user
  return { outcome: 'found', username, profile: withPictures(peer, profile) }
}

function withPictures({ origin }: Peer, profile: RemoteUser['profile']): RemoteUser['profile'] {
  const urlOf = (name: string | null) => name && new URL(`/api/uploads/${name}`, origin).href
  return { ...profile, ...Object.fromEntries(pictureFields.map((field) => [field, urlOf(profile[field])])) }
}

/** Asks the home whose proof the token is. The token works once. protocol.md 4.6, step 3. */
export async function askProof(
  deps: SendDeps & Pick<Deps, 'orm'>,
  { host, token }: z.infer<typeof verifyAttachProof.request>,
): Promise<z.infer<typeof verifyAttachProof.reply>> {
  const peer = await activePeerOf(deps, host)
  if (!peer) return { outcome: 'no_peer' }
  const message = { endpoint: endpoints.verifyAttachProof, body: { token }, timeoutMs: policy.messageTimeoutMs }
  const exchange = await tryExchange(sendToPeer(deps, peer, message))
  if (!exchange) return { outcome: 'unreachable' }
  const now = deps.clock.now()
  const said = attachProofReply.safeParse(jsonOf(exchange.answer)).data
  // An unsigned answer proves nothing.
  if (verifySignedAnswer(exchange, peer.secretsAt(now), now) !== 'ok' || !said?.valid) return { outcome: 'invalid' }
  return { outcome: 'valid', homeUserId: said.homeUserId, username: said.username }
}

async function activePeerOf({ orm }: Pick<Deps, 'orm'>, host: string): Promise<Peer | null> {
  return await orm.em.fork().findOne(Peer, { host: hostOf(host), status: 'active' }, { orderBy: { id: 'asc' } })
}
