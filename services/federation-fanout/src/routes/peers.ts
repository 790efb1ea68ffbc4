import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import type { Peer } from '@gatehouse/domain'
import { answer, requestIdOf, requireAdmin, requireUser, type AppState } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { acceptPeering } from '../operations/accept-peering.ts'
import { approveRequest, denyRequest } from '../operations/decide-request.ts'
import { forgetPeer, recheckPeer, resetPeer, revokePeer, rotatePeer } from '../operations/administer-peer.ts'
import { setRotation } from '../operations/administer-peer.ts'
import { ensurePeering, findSettledPeering } from '../operations/ensure-peering.ts'
import { initiatePeering } from '../operations/initiate-peering.ts'
import { policy } from '../policy.ts'
import { listApprovalRequests, listPeers, peerReply } from '../replies/peer-reply.ts'
import { takeFromLimit } from '../requests/require-peer.ts'

/** What admins and users do with peers. Contract: 7, as a whole. */
export function peerRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>()
  answer(router, endpoints.initiatePeer, async (input, ctx) => {
    const peer = await initiatePeering(deps, { ...input, ...causeOf(ctx) })
    if (peer.status !== 'active') ctx.status = 202
    return { peer: peerReply(peer) }
  })
  answer(router, endpoints.acceptPeer, async (input, ctx) => {
    const reply = await acceptPeering(deps, { ...input, requestId: requestIdOf(ctx) })
    if (!('accepted' in reply)) ctx.status = 202
    return reply
  })
  answer(router, endpoints.ensurePeer, async ({ remoteOrigin }, ctx) => {
    const caller = requireUser(ctx)
    const settled = await findSettledPeering(deps, remoteOrigin)
    if (settled) return settled
    await takeFromLimit(deps, ctx, { limit: policy.ensures, key: caller.userId })
    return await ensurePeering(deps, { remoteOrigin, caller, requestId: requestIdOf(ctx) })
  })
  addAdminRoutes(router, deps)
  return router
}

function addAdminRoutes(router: Router<AppState>, deps: Deps): void {
  answer(router, endpoints.revokePeer, (input, ctx) => revokePeer(deps, { ...input, ...causeOf(ctx) }))
  answer(router, endpoints.forgetPeer, (input, ctx) => forgetPeer(deps, { ...input, ...causeOf(ctx) }))
  answer(router, endpoints.resetPeer, (input, ctx) => resetPeer(deps, { ...input, ...causeOf(ctx) }))
  answer(router, endpoints.approveRequest, (input, ctx) => approveRequest(deps, { ...input, ...causeOf(ctx) }))
  answer(router, endpoints.denyRequest, (input, ctx) => denyRequest(deps, { ...input, ...causeOf(ctx) }))
  answer(router, endpoints.listPeers, async () => ({ peers: await listPeers(deps) }))
  answer(router, endpoints.listApprovalRequests, async () => ({ requests: await listApprovalRequests(deps) }))
  const shown = async (peer: Promise<Peer>) => ({ peer: peerReply(await peer) })
  answer(router, endpoints.recheckPeer, (input, ctx) => shown(recheckPeer(deps, { ...input, ...causeOf(ctx) })))
  answer(router, endpoints.rotatePeer, (input, ctx) => shown(rotatePeer(deps, { ...input, ...causeOf(ctx) })))
  answer(router, endpoints.patchPeer, (input, ctx) => shown(setRotation(deps, { ...input, ...causeOf(ctx) })))
}

const causeOf = (ctx: { state: AppState }) => ({ actor: requireAdmin(ctx), requestId: requestIdOf(ctx) })
