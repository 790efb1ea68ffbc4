import { changeRows } from '@gatehouse/database'
import { ApprovalRequest, Peer } from '@gatehouse/domain'
import { LockMode } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { rejectOrigin } from '../operations/deny-request.ts'
import { withPeer } from '../peers/with-peer.ts'
import { policy } from '../policy.ts'
import { deleteEndedLimits } from '../requests/peer-limits.ts'

/** Origins of undecided requests are told. Contract: 7. */
export async function expireOld(deps: Deps): Promise<void> {
  const em = deps.orm.em.fork()
  const old = { expiresAt: { $lte: new Date(deps.clock.now()) } }
  await em.nativeDelete(ApprovalRequest, { ...old, status: 'unproven' })
  await changeRows(em, 'delete from attach_proofs where expires_at <= ?', [new Date(deps.clock.now())])
  await deleteEndedLimits(deps)
  const limit = policy.duePerRun
  const requests = await em.find(ApprovalRequest, { ...old, status: 'pending' }, { limit })
  for (const { id, sourceOrigin } of requests) await expireRequest(deps, { id, sourceOrigin })
  const peers = await em.find(Peer, { ...old, status: 'pending' }, { limit })
  for (const { origin } of peers) await expirePeer(deps, origin)
}

async function expireRequest(deps: Deps, { id, sourceOrigin }: { id: string; sourceOrigin: string }): Promise<void> {
  await withPeer(deps, sourceOrigin, async (em) => {
    const lockMode = LockMode.PESSIMISTIC_WRITE
    const request = await em.findOne(ApprovalRequest, { id, status: 'pending' }, { lockMode })
    if (!request) return
    const now = new Date(deps.clock.now())
    request.expire(now)
    await rejectOrigin(deps, em, { request, reason: 'expired', now })
  })
}

async function expirePeer(deps: Deps, origin: string): Promise<void> {
  await withPeer(deps, origin, async (em, peer) => {
    const isOver = peer?.status === 'pending' && (peer.expiresAt?.getTime() ?? Infinity) <= deps.clock.now()
    if (isOver) em.remove(peer)
  })
}
