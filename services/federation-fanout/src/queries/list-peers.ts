import { ApprovalRequest, Peer } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'

/** Every instance we know, the newest first. */
export async function listPeers({ orm }: Pick<Deps, 'orm'>): Promise<Peer[]> {
  return await orm.em.fork().findAll(Peer, { orderBy: { id: 'desc' } })
}

/** Those that wait come first, then the newest decided ones. */
export async function listApprovalRequests({ orm }: Pick<Deps, 'orm'>): Promise<ApprovalRequest[]> {
  const em = orm.em.fork()
  const waiting = await em.find(ApprovalRequest, { status: 'pending' }, { orderBy: { id: 'desc' } })
  const decided = await em.find(
    ApprovalRequest,
    { status: { $ne: 'pending' } },
    { orderBy: { id: 'desc' }, limit: policy.approvalRequestsShown },
  )
  return [...waiting, ...decided]
}
