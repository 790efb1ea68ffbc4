import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { answer, requestIdOf, requireAdmin, type AppState } from '@gatehouse/service-kit'
import type { Deps } from './deps.ts'
import { checkInvite } from './operations/check-invite.ts'
import { createInvite } from './operations/create-invite.ts'
import { deleteInvite, patchInvite, reinstateInvite, revokeInvite } from './operations/change-invite.ts'
import { inviteReply, listInvites, listRedemptions } from './replies/invite-reply.ts'

/** Contract: 3, check-invite; 4. */
export function inviteRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  router.get(endpoints.checkInvite.path, async (ctx) => {
    // A malformed query is answered like an unknown token: it names no usable invite.
    ctx.body = await checkInvite(deps, ctx.query.token)
  })
  answer(router, endpoints.createInvite, async (input, ctx) => {
    return await inviteReply(deps, await createInvite(deps, { ...input, ...callOf(ctx) }))
  })
  answer(router, endpoints.listInvites, (query) => listInvites(deps, query))
  answer(router, endpoints.listRedemptions, ({ id, ...page }) => listRedemptions(deps, id, page))
  answer(router, endpoints.patchInvite, async ({ id, ...change }, ctx) => {
    return await inviteReply(deps, await patchInvite(deps, { id, change, ...callOf(ctx) }))
  })
  answer(router, endpoints.revokeInvite, async ({ id }, ctx) => {
    return { invite: await inviteReply(deps, await revokeInvite(deps, { id, ...callOf(ctx) })) }
  })
  answer(router, endpoints.reinstateInvite, async ({ id, ...change }, ctx) => {
    const { invite, tokenRotated } = await reinstateInvite(deps, { id, change, ...callOf(ctx) })
    return { invite: await inviteReply(deps, invite), tokenRotated }
  })
  answer(router, endpoints.deleteInvite, ({ id }, ctx) => deleteInvite(deps, { id, ...callOf(ctx) }))
  return router
}

function callOf(ctx: { state: AppState }) {
  return { admin: requireAdmin(ctx), requestId: requestIdOf(ctx) }
}
