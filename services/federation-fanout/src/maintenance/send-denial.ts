import { endpoints } from '@gatehouse/contracts'
import { ApprovalRequest, Peer } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { Deps } from '../deps.ts'
import { isSuccess, sendSigned, tryExchange } from '../peers/exchange.ts'
import { readSignedHeaders, verifySignature } from '../peers/signature.ts'
import { newSecret, withPeer } from '../peers/with-peer.ts'
import { delayAfter, policy } from '../policy.ts'
import { claimNonce } from '../requests/require-peer.ts'

const messages = {
  denied_by_admin: 'The admin of this instance has denied the request',
  expired: 'No admin of this instance decided in time',
}

/** Stops when an admin has initiated, or at 2xx, 404 and 409. federation-wire.md 2.2, peer/denied. */
export async function sendDenial(deps: Deps, request: ApprovalRequest): Promise<void> {
  const { id, sourceOrigin: origin, secret, attempts } = request
  const em = deps.orm.em.fork()
  const isOurs = { origin, status: 'rejected', reason: { $in: ['denied_by_admin', 'expired'] } } as const
  const status = secret && (await em.count(Peer, isOurs)) > 0 ? await post(deps, request, secret) : 404
  const isHeard = isSuccess(status) || status === 404 || status === 409
  const isOver = isHeard || attempts + 1 >= policy.denialAttempts
  const due = new Date(deps.clock.now() + delayAfter(policy.repeatDelaysMs, attempts))
  await em.nativeUpdate(ApprovalRequest, { id }, { attempts: attempts + 1, nextAttemptAt: isOver ? null : due })
  deps.log.info({ origin, status, isHeard }, 'denial sent')
}

async function post(deps: Deps, { sourceOrigin: origin, status }: ApprovalRequest, secret: string): Promise<number> {
  const reason = status === 'expired' ? 'expired' : 'denied_by_admin'
  const body = { origin: deps.config.publicAddress.origin, reason, message: messages[reason] }
  const message = { endpoint: endpoints.peerDenied, body, timeoutMs: policy.messageTimeoutMs }
  return (await tryExchange(sendSigned(deps, { origin, secret }, message)))?.answer.status ?? 0
}

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
  await withPeer(deps, { origin, requestId }, async (_em, current) => {
    if (current?.isOffered() && current.secret === peer.secret) current.reject('denied_by_peer', newSecret(deps))
  })
  deps.log.info({ requestId, origin }, 'offer denied by its peer')
}
