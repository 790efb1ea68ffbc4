import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { requireAdmin, jsonBody, parseInput, requestIdOf } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { acceptPeering } from '../operations/accept-peering.ts'
import { initiatePeering } from '../operations/initiate-peering.ts'
import { revokePeer } from '../operations/revoke-peer.ts'
import { listPeers } from '../queries/list-peers.ts'
import { peerReply } from '../replies/peer-reply.ts'

/** The instances we know, and how they become peers. Contract: 7. */
export function peerRoutes(deps: Deps): Router {
  const router = new Router()
  router.get(endpoints.listPeers.path, async (ctx) => {
    requireAdmin(ctx)
    ctx.body = { peers: (await listPeers(deps)).map(peerReply) }
  })
  router.post(endpoints.initiatePeer.path, jsonBody, async (ctx) => {
    const actor = requireAdmin(ctx)
    const input = parseInput(endpoints.initiatePeer.body, ctx.request.body)
    const peer = await initiatePeering(deps, { ...input, actor, requestId: requestIdOf(ctx) })
    ctx.status = peer.status === 'active' ? 200 : 202
    ctx.body = { peer: peerReply(peer) }
  })
  router.post(endpoints.acceptPeer.path, jsonBody, async (ctx) => {
    const input = parseInput(endpoints.acceptPeer.body, ctx.request.body)
    const acceptance = await acceptPeering(deps, { ...input, requestId: requestIdOf(ctx) })
    ctx.status = acceptance.accepted ? 200 : 202
    ctx.body = acceptance
  })
  router.delete(endpoints.revokePeer.path, async (ctx) => {
    const actor = requireAdmin(ctx)
    await revokePeer(deps, { ...parseInput(endpoints.revokePeer.params, ctx.params), actor })
    ctx.body = { success: true }
  })
  return router
}
