import Router from '@koa/router'
import { acceptPeerBody, endpoints, idParams } from '@gatehouse/contracts'
import { refuse } from '@gatehouse/runtime'
import { jsonBody, parseInput, requestIdOf, requireAdmin, requireUser, type AppState } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { acceptPeering } from '../operations/accept-peering.ts'
import { approveRequest, denyRequest } from '../operations/decide-request.ts'
import {
  forgetPeer,
  recheckPeer,
  resetPeer,
  revokePeer,
  rotatePeer,
  setRotation,
} from '../operations/administer-peer.ts'
import { ensurePeering, findSettledPeering } from '../operations/ensure-peering.ts'
import { initiatePeering } from '../operations/initiate-peering.ts'
import { policy } from '../policy.ts'
import { listApprovalRequests, listPeers, peerReply, requestReply } from '../replies/peer-reply.ts'
import { takeFromLimit } from '../requests/peer-limits.ts'

/** Contract: 7. */
export function peerRoutes(deps: Deps): Router {
  const router = new Router()
  router.post(endpoints.initiatePeer.path, jsonBody, async (ctx) => {
    const actor = requireAdmin(ctx)
    const input = parseInput(endpoints.initiatePeer.body, ctx.request.body)
    const peer = await initiatePeering(deps, { ...input, actor, requestId: requestIdOf(ctx) })
    ctx.status = peer.status === 'active' ? 200 : 202
    ctx.body = { peer: peerReply(peer) }
  })
  router.post(endpoints.acceptPeer.path, jsonBody, async (ctx) => {
    const input = parseInput(acceptPeerBody, ctx.request.body)
    const reply = await acceptPeering(deps, { ...input, requestId: requestIdOf(ctx) })
    ctx.status = 'accepted' in reply ? 200 : 202
    ctx.body = reply
  })
  router.post(endpoints.ensurePeer.path, jsonBody, async (ctx) => {
    const caller = requireUser(ctx)
    const { remoteOrigin } = parseInput(endpoints.ensurePeer.body, ctx.request.body)
    const settled = await findSettledPeering(deps, remoteOrigin)
    if (!settled) await takeFromLimit(deps, ctx, { limit: policy.ensures, key: caller.userId })
    ctx.body = settled ?? (await ensurePeering(deps, { remoteOrigin, caller, requestId: requestIdOf(ctx) }))
  })
  // A gateway of release 0.2.0 asks here what identity does now. Its clients repeat the request.
  router.post(endpoints.deleteFederationIdentity.path, () => {
    throw refuse.unavailable({ headers: { 'Retry-After': '5' } })
  })
  addAdminRoutes(router, deps)
  return router
}

function addAdminRoutes(router: Router, deps: Deps): void {
  const acts = [
    [endpoints.revokePeer, revokePeer],
    [endpoints.forgetPeer, forgetPeer],
    [endpoints.resetPeer, resetPeer],
    [endpoints.approveRequest, approveRequest],
    [endpoints.denyRequest, denyRequest],
  ] as const
  for (const [{ method, path }, act] of acts) {
    router.register(path, [method], async (ctx) => {
      await act(deps, actOf(ctx))
      ctx.body = { success: true }
    })
  }
  router.get(endpoints.listPeers.path, async (ctx) => {
    requireAdmin(ctx)
    ctx.body = { peers: await listPeers(deps) }
  })
  router.post(endpoints.recheckPeer.path, async (ctx) => {
    ctx.body = { peer: peerReply(await recheckPeer(deps, actOf(ctx))) }
  })
  router.post(endpoints.rotatePeer.path, async (ctx) => {
    ctx.body = { peer: peerReply(await rotatePeer(deps, actOf(ctx))) }
  })
  router.patch(endpoints.patchPeer.path, jsonBody, async (ctx) => {
    const act = actOf(ctx)
    const input = parseInput(endpoints.patchPeer.body, ctx.request.body)
    ctx.body = { peer: peerReply(await setRotation(deps, { ...input, ...act })) }
  })
  router.get(endpoints.listApprovalRequests.path, async (ctx) => {
    requireAdmin(ctx)
    ctx.body = { requests: (await listApprovalRequests(deps)).map(requestReply) }
  })
}

function actOf(ctx: { state: AppState; params: unknown }) {
  const actor = requireAdmin(ctx)
  return { ...parseInput(idParams, ctx.params), actor, requestId: requestIdOf(ctx) }
}
