import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { adminsOnly, jsonBody, parseInput, requestIdOf, requireAdmin, type AppState } from '@gatehouse/service-kit'
import type { Deps } from './deps.ts'
import { checkInvite } from './operations/check-invite.ts'
import { createInvite } from './operations/create-invite.ts'
import { deleteInvite, patchInvite, reinstateInvite, revokeInvite } from './operations/change-invite.ts'
import { listInvites, listRedemptions, inviteReplies, inviteReply, redemptionReplies } from './replies/invite-reply.ts'

/** Contract: 3, check-invite; 4. */
export function inviteRoutes(deps: Deps): Router[] {
  const publicRouter = new Router({ sensitive: true })
  publicRouter.get(endpoints.checkInvite.path, async (ctx) => {
    // A malformed query is answered like an unknown token: it names no usable invite.
    ctx.body = await checkInvite(deps, ctx.query.token)
  })
  const adminRouter = new Router<AppState>({ sensitive: true })
  adminRouter.use(adminsOnly)
  addCollectionRoutes(adminRouter, deps)
  addStateRoutes(adminRouter, deps)
  return [publicRouter, adminRouter]
}

function addCollectionRoutes(router: Router, deps: Deps): void {
  router.post(endpoints.createInvite.path, jsonBody, async (ctx) => {
    const input = parseInput(endpoints.createInvite.body, ctx.request.body)
    const invite = await createInvite(deps, { ...input, ...callOf(ctx) })
    ctx.status = 201
    ctx.body = await inviteReply(deps, invite)
  })
  router.get(endpoints.listInvites.path, async (ctx) => {
    const { rows, nextCursor } = await listInvites(deps, parseInput(endpoints.listInvites.query, ctx.query))
    ctx.body = { invites: await inviteReplies(deps, rows), nextCursor }
  })
  router.get(endpoints.listRedemptions.path, async (ctx) => {
    const { id } = parseInput(endpoints.listRedemptions.params, ctx.params)
    const page = parseInput(endpoints.listRedemptions.query, ctx.query)
    const { rows, nextCursor } = await listRedemptions(deps, id, page)
    ctx.body = { redemptions: await redemptionReplies(deps, rows), nextCursor }
  })
}

function addStateRoutes(router: Router, deps: Deps): void {
  router.patch(endpoints.patchInvite.path, jsonBody, async (ctx) => {
    const { id } = parseInput(endpoints.patchInvite.params, ctx.params)
    const change = parseInput(endpoints.patchInvite.body, ctx.request.body)
    ctx.body = await inviteReply(deps, await patchInvite(deps, { id, change, ...callOf(ctx) }))
  })
  router.post(endpoints.revokeInvite.path, async (ctx) => {
    const { id } = parseInput(endpoints.revokeInvite.params, ctx.params)
    ctx.body = { invite: await inviteReply(deps, await revokeInvite(deps, { id, ...callOf(ctx) })) }
  })
  router.post(endpoints.reinstateInvite.path, jsonBody, async (ctx) => {
    const { id } = parseInput(endpoints.reinstateInvite.params, ctx.params)
    const change = parseInput(endpoints.reinstateInvite.body, ctx.request.body)
    const { invite, tokenRotated } = await reinstateInvite(deps, { id, change, ...callOf(ctx) })
    ctx.body = { invite: await inviteReply(deps, invite), tokenRotated }
  })
  router.delete(endpoints.deleteInvite.path, async (ctx) => {
    const { id } = parseInput(endpoints.deleteInvite.params, ctx.params)
    await deleteInvite(deps, { id, ...callOf(ctx) })
    ctx.body = { success: true }
  })
}

function callOf(ctx: { state: AppState }) {
  return { admin: requireAdmin(ctx), requestId: requestIdOf(ctx) }
}
