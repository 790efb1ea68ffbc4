import type { ActingAdmin } from '@gatehouse/authority'
import { endpoints } from '@gatehouse/contracts'
import { recordAudit } from '@gatehouse/database'
import { ApprovalRequest, Peer } from '@gatehouse/domain'
import { refuse, backoffMs } from '@gatehouse/runtime'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { tryHandshake } from '../handshake/attempt-handshake.ts'
import { beginOffer } from '../handshake/offers.ts'
import type { HandshakeDeps, ProofDeps } from '../handshake/prove-secret.ts'
import { isSuccess, jsonOf, sendSigned, tryExchange, type SendDeps } from '../peers/exchange.ts'
import { newPeer } from '../peers/peer-states.ts'
import { readSignedHeaders, verifySignature } from '../peers/signature.ts'
import { newSecret, withPeer, type PeerDeps } from '../peers/with-peer.ts'
import { policy } from '../policy.ts'
import { claimNonce, runWithNonce } from '../requests/require-peer.ts'
import { beginInitiation, offerablePeer } from './initiate-peering.ts'

type Input = { id: string; actor: ActingAdmin; requestId?: string | undefined }

/**
 * Stores our offer before sending, and repeats it until answered. Throws not_found, request_decided, peer_exists,
 * peer_needs_reset, and as `assertCallerCurrent` does. Contract: 7, consent.
 */
export async function approveRequest(deps: HandshakeDeps, input: Input): Promise<void> {
  const offered = await decideRequest(
    deps,
    { ...input, decision: 'approved' },
    async (em, { request, existing, now }) => {
      const origin = request.sourceOrigin
      if (request.direction === 'outbound')
        return await beginInitiation(deps, em, { existing, origin, adminDecided: true })
      const peer = await offerablePeer(em, { existing, origin, now })
      beginOffer(deps, peer, { adminDecided: true, presentedToken: request.approvalToken ?? null, now })
      peer.instanceName ??= request.instanceName
      // The periodic task continues if this process dies.
      peer.nextAttemptAt = new Date(now.getTime() + policy.leaseMs)
      return peer
    },
  )
  await tryHandshake(deps, offered, input.requestId)
}

/** Throws not_found, request_decided, and as `assertCallerCurrent` does. Contract: 7, consent. */
export async function denyRequest(deps: PeerDeps & Pick<Deps, 'maintenance'>, input: Input): Promise<void> {
  await decideRequest(deps, { ...input, decision: 'denied' }, (em, { request, now }) =>
    rejectOrigin(deps, em, { request, reason: 'denied_by_admin', now }),
  )
  void deps.maintenance.runNow()
}

/** Locks the request, so that of two decisions one counts. Contract: 7, consent. */
async function decideRequest<Outcome>(
  deps: PeerDeps,
  { id, actor, requestId, decision }: Input & { decision: 'approved' | 'denied' },
  follow: (
    em: EntityManager,
    decided: { request: ApprovalRequest; existing: Peer | null; now: Date },
  ) => Promise<Outcome>,
): Promise<Outcome> {
  const { sourceOrigin: origin } = await loadWaitingRequest(deps.orm.em.fork(), id)
  return await withPeer(deps, { origin, actor, requestId }, async (em, existing) => {
    const request = await loadWaitingRequest(em, id)
    const now = new Date(deps.clock.now())
    const outcome = await follow(em, { request, existing, now })
    request.decide(decision, actor.userId, now)
    const target = { type: 'approval-request' as const, id }
    const detail = { origin, direction: request.direction }
    recordAudit(em, { action: `approval-request.${decision}`, actor, target, detail, at: now })
    return outcome
  })
}

/** Locked inside a transaction. Throws not_found, request_decided. */
async function loadWaitingRequest(em: EntityManager, id: string): Promise<ApprovalRequest> {
  const lock = em.isInTransaction() ? { lockMode: LockMode.PESSIMISTIC_WRITE } : {}
  const request = await em.findOne(ApprovalRequest, { id }, lock)
  if (!request) throw refuse.not_found()
  if (request.status !== 'pending') throw refuse.request_decided()
  return request
}

type Rejection = { request: ApprovalRequest; reason: 'denied_by_admin' | 'expired'; now: Date }

/** An existing peer stays one. */
export async function rejectOrigin(deps: Pick<Deps, 'random'>, em: EntityManager, rejection: Rejection): Promise<void> {
  const { reason, now } = rejection
  const { direction, sourceOrigin: origin } = rejection.request
  if (direction === 'outbound') return
  const existing = await em.findOne(Peer, { origin })
  if (existing && ['active', 'unreachable', 'needs_attention', 'revoked'].includes(existing.status)) return
  const peer = existing ?? (await newPeer(em, origin, now))
  peer.reject(reason, newSecret(deps))
}

const messages = {
  denied_by_admin: 'The admin of this instance has denied the request',
  expired: 'No admin of this instance decided in time',
}

/** Stops when an admin has initiated, or at 2xx, 404 and 409. protocol.md 2.2, peer/denied. */
export async function sendDenial(deps: ProofDeps, request: ApprovalRequest): Promise<void> {
  const { id, sourceOrigin: origin, secret, attempts } = request
  const em = deps.orm.em.fork()
  const isOurs = { origin, status: 'rejected', reason: { $in: ['denied_by_admin', 'expired'] } } as const
  const status = secret && (await em.count(Peer, isOurs)) > 0 ? await post(deps, request, secret) : 404
  const isHeard = isSuccess(status) || status === 404 || status === 409
  const isOver = isHeard || attempts + 1 >= policy.denialAttempts
  const due = new Date(deps.clock.now() + backoffMs(attempts, policy.repeatDelaysMs))
  await em.nativeUpdate(ApprovalRequest, { id }, { attempts: attempts + 1, nextAttemptAt: isOver ? null : due })
  deps.log.info({ origin, status, isHeard }, 'denial sent')
}

async function post(
  deps: SendDeps,
  { sourceOrigin: origin, status }: ApprovalRequest,
  secret: string,
): Promise<number> {
  const reason = status === 'expired' ? 'expired' : 'denied_by_admin'
  const body = { origin: deps.config.publicAddress.origin, reason, message: messages[reason] }
  const message = { endpoint: endpoints.peerDenied, body, timeoutMs: policy.messageTimeoutMs }
  return (await tryExchange(sendSigned(deps, { origin, secret }, message)))?.answer.status ?? 0
}

type Denial = { headers: Record<string, string | string[] | undefined>; body: Buffer; requestId?: string | undefined }

/**
 * Signed with the offer's secret. Without a waiting offer the answer is the same. Throws signature_missing,
 * signature_wrong, signature_stale, nonce_used. protocol.md 2.2, peer/denied.
 */
export async function receiveDenial(
  deps: PeerDeps & Pick<Deps, 'log'>,
  { headers, body, requestId }: Denial,
): Promise<void> {
  const signed = readSignedHeaders(headers)
  if (!signed) throw refuse.signature_missing()
  const { origin } = signed
  const peer = await deps.orm.em.fork().findOne(Peer, { origin, status: { $in: ['pending', 'awaiting_approval'] } })
  if (!peer) return
  const { verdict } = verifySignature({ secrets: [peer.secret], body, signed, now: deps.clock.now() })
  if (verdict === 'stale') throw refuse.signature_stale()
  if (verdict === 'bad') throw refuse.signature_wrong()
  if (!(await claimNonce(deps, signed))) throw refuse.nonce_used()
  const reason = jsonOf({ body })?.reason === 'expired' ? 'expired_by_peer' : 'denied_by_peer'
  await runWithNonce(deps, { signed, requestId }, () =>
    withPeer(deps, { origin, requestId }, async (_em, current) => {
      if (current?.isOffered() && current.secret === peer.secret) current.reject(reason, newSecret(deps))
    }),
  )
  deps.log.info({ requestId, origin }, 'offer denied by its peer')
}
