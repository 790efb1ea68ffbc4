import { ApprovalRequest, Peer } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'

/** Newest first. */
export async function listPeers({ orm }: Pick<Deps, 'orm'>): Promise<Peer[]> {
  return await orm.em.fork().findAll(Peer, { orderBy: { id: 'desc' } })
}

/** Newest first. Contract: 7. */
export async function listApprovalRequests({ orm }: Pick<Deps, 'orm'>): Promise<ApprovalRequest[]> {
  return await orm.em.fork().find(ApprovalRequest, { status: 'pending' }, { orderBy: { id: 'desc' }, limit: 200 })
}
