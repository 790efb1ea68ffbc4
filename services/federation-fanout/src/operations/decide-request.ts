import { ApprovalRequest, recordAudit, type ActingAdmin, type Peer } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { withPeer } from '../peers/with-peer.ts'

export type Decision = {
  id: string
  actor: ActingAdmin
  decision: 'approved' | 'denied'
  requestId: string | undefined
}
export type DecidedRequest = { request: ApprovalRequest; known: Peer | null; now: Date }

/** Throws not_found, request_decided, and as `assertCallerCurrent` does. Contract: 7, approval requests. */
export async function decideRequest<Outcome>(
  deps: Deps,
  { id, actor, decision, requestId }: Decision,
  follow: (em: EntityManager, decided: DecidedRequest) => Promise<Outcome>,
): Promise<Outcome> {
  const { sourceOrigin: origin } = await loadWaitingRequest(deps.orm.em.fork(), id)
  return await withPeer(
    deps,
    origin,
    async (em, known) => {
      const request = await loadWaitingRequest(em, id)
      const now = new Date(deps.clock.now())
      const outcome = await follow(em, { request, known, now })
      request.decide(decision, actor.userId, now)
      recordAudit(em, {
        action: `approval-request.${decision}`,
        actor,
        target: { type: 'approval-request', id },
        detail: { origin, direction: request.direction },
        at: now,
      })
      return outcome
    },
    { actor, requestId },
  )
}

/** Locked inside a transaction. Throws not_found, request_decided. */
async function loadWaitingRequest(em: EntityManager, id: string): Promise<ApprovalRequest> {
  const lock = em.isInTransaction() ? { lockMode: LockMode.PESSIMISTIC_WRITE } : {}
  const request = await em.findOne(ApprovalRequest, { id }, lock)
  if (!request) throw refuse.not_found()
  if (request.status !== 'pending') throw refuse.request_decided()
  return request
}
