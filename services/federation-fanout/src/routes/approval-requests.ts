import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { requireAdmin, parseInput, requestIdOf } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { approveRequest } from '../operations/approve-request.ts'
import { denyRequest } from '../operations/deny-request.ts'
import { listApprovalRequests } from '../queries/list-peers.ts'
import { requestReply } from '../replies/approval-request-reply.ts'

/** Contract: 7. */
export function approvalRequestRoutes(deps: Deps): Router {
  const router = new Router()
  router.get(endpoints.listApprovalRequests.path, async (ctx) => {
    requireAdmin(ctx)
    ctx.body = { requests: (await listApprovalRequests(deps)).map(requestReply) }
  })
  router.post(endpoints.approveRequest.path, async (ctx) => {
    const actor = requireAdmin(ctx)
    const { id } = parseInput(endpoints.approveRequest.params, ctx.params)
    await approveRequest(deps, { id, actor, requestId: requestIdOf(ctx) })
    ctx.body = { success: true }
  })
  router.post(endpoints.denyRequest.path, async (ctx) => {
    const actor = requireAdmin(ctx)
    const { id } = parseInput(endpoints.denyRequest.params, ctx.params)
    await denyRequest(deps, { id, actor, requestId: requestIdOf(ctx) })
    ctx.body = { success: true }
  })
  return router
}
