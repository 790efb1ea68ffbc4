import { Peer } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { newSecret } from '../peers/new-secret.ts'
import { readSignedHeaders, verifySignature } from '../peers/signature.ts'
import { withPeer } from '../peers/with-peer.ts'
import { claimNonce } from '../requests/nonces.ts'

type Input = { headers: Record<string, string | string[] | undefined>; body: Buffer; requestId?: string | undefined }

/**
 * Signed with the offer's secret. Without a waiting offer the answer is the same. Throws signature_missing,
 * signature_wrong, signature_stale, nonce_used. federation-wire.md 2.2, peer/denied.
 */
export async function receiveDenial(deps: Deps, { headers, body, requestId }: Input): Promise<void> {
  const signed = readSignedHeaders(headers)
  if (!signed) throw refuse.signature_missing()
  const { origin } = signed
  const peer = await deps.orm.em.fork().findOne(Peer, { origin, status: { $in: ['pending', 'awaiting_approval'] } })
  if (!peer) return
  const { verdict } = verifySignature({ secrets: [peer.secret], body, signed, now: deps.clock.now() })
  if (verdict === 'stale') throw refuse.signature_stale()
  if (verdict === 'bad') throw refuse.signature_wrong()
  if (!(await claimNonce(deps, signed))) throw refuse.nonce_used()
  const end = async (_em: EntityManager, current: Peer | null) => {
    if (current?.isOffered() && current.secret === peer.secret) current.reject('denied_by_peer', newSecret(deps))
  }
  await withPeer(deps, origin, end, { requestId })
  deps.log.info({ requestId, origin }, 'offer denied by its peer')
}
