import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { answer, requestIdOf, requireAdmin, requireUser, type AppState } from '@gatehouse/service-kit'
import type { Deps } from './deps.ts'
import { checkInvite } from './operations/check-invite.ts'
import { createInvite, createOwnInvite } from './operations/create-invite.ts'
import * as changes from './operations/change-invite.ts'
import { listInvites, listOwnInvites, listRedemptions } from './replies/invite-reply.ts'

/** The routes of admins, of members, and the check before a registration. Contract: 4, as a whole; 3, check-invite. */
export function inviteRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  router.get(endpoints.checkInvite.path, async (ctx) => {
    // A malformed query is answered like an unknown token: it names no usable invite.
    ctx.body = await checkInvite(deps, ctx.query.token)
  })
  answer(router, endpoints.createInvite, (input, ctx) => createInvite(deps, { ...input, ...callOf(ctx) }))
  answer(router, endpoints.listInvites, (query) => listInvites(deps, query))
  answer(router, endpoints.listRedemptions, ({ id, ...page }) => listRedemptions(deps, id, page))
  answer(router, endpoints.patchInvite, ({ id, ...change }, ctx) =>
    changes.patchInvite(deps, { id, change, ...callOf(ctx) }),
  )
  answer(router, endpoints.revokeInvite, async ({ id }, ctx) => {
    return { invite: await changes.revokeInvite(deps, { id, ...callOf(ctx) }) }
  })
  answer(router, endpoints.reinstateInvite, ({ id, ...change }, ctx) =>
    changes.reinstateInvite(deps, { id, change, ...callOf(ctx) }),
  )
  answer(router, endpoints.deleteInvite, ({ id }, ctx) => changes.deleteInvite(deps, { id, ...callOf(ctx) }))
  answer(router, endpoints.createOwnInvite, (input, ctx) => createOwnInvite(deps, { ...input, ...ownCallOf(ctx) }))
  answer(router, endpoints.listOwnInvites, (query, ctx) => listOwnInvites(deps, requireUser(ctx).userId, query))
  answer(router, endpoints.revokeOwnInvite, async ({ id }, ctx) => {
    return { invite: await changes.revokeOwnInvite(deps, { id, ...ownCallOf(ctx) }) }
  })
  return router
}

const callOf = (ctx: { state: AppState }) => ({ actor: requireAdmin(ctx), requestId: requestIdOf(ctx) })
const ownCallOf = (ctx: { state: AppState }) => ({ caller: requireUser(ctx), requestId: requestIdOf(ctx) })
