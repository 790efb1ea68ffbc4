import { Peer, type ActingAdmin, type ApprovalRequest } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { newPeer } from '../handshake/activate.ts'
import { newSecret } from '../peers/new-secret.ts'
import { decideRequest } from './decide-request.ts'

type Input = { id: string; actor: ActingAdmin; requestId?: string | undefined }

/** Throws not_found, request_decided, and as `assertCallerCurrent` does. Contract: 7, approval requests. */
export async function denyRequest(deps: Deps, { id, actor, requestId }: Input): Promise<void> {
  await decideRequest(deps, { id, actor, decision: 'denied', requestId }, (em, { request, now }) =>
    rejectOrigin(deps, em, { request, reason: 'denied_by_admin', now }),
  )
  void deps.maintenance.runNow()
}

type Rejection = { request: ApprovalRequest; reason: 'denied_by_admin' | 'expired'; now: Date }

/** An existing peer stays one. */
export async function rejectOrigin(
  deps: Pick<Deps, 'random'>,
  em: EntityManager,
  { request, reason, now }: Rejection,
): Promise<void> {
  if (request.direction === 'outbound') return
  const known = await em.findOne(Peer, { origin: request.sourceOrigin })
  if (known && ['active', 'unreachable', 'needs_attention', 'revoked'].includes(known.status)) return
  const peer = known ?? (await newPeer(em, request.sourceOrigin, now))
  peer.reject(reason, newSecret(deps))
}
