import { ApprovalRequest } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'

/** Locked inside a transaction. Throws not_found, request_decided. */
export async function loadWaitingRequest(em: EntityManager, id: string): Promise<ApprovalRequest> {
  const lock = em.isInTransaction() ? { lockMode: LockMode.PESSIMISTIC_WRITE } : {}
  const request = await em.findOne(ApprovalRequest, { id }, lock)
  if (!request) throw refuse.not_found()
  if (request.status !== 'pending') throw refuse.request_decided()
  return request
}
