import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { User, sanitizeUser } from '@gatehouse/domain'
import { jsonBody, memberOf, parseInput, requestIdOf } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { deleteAccount } from '../operations/delete-account.ts'
import { patchProfile } from '../operations/patch-profile.ts'

/** Contract: 3. */
export function userRoutes(deps: Deps): Router {
  const router = new Router()
  router.get(endpoints.getSelf.path, async (ctx) => {
    ctx.body = sanitizeUser(await loadUser(deps, memberOf(ctx).userId), true)
  })
  router.patch(endpoints.patchSelf.path, jsonBody, async (ctx) => {
    const { userId } = memberOf(ctx)
    const changes = parseInput(endpoints.patchSelf.body, ctx.request.body)
    ctx.body = sanitizeUser(await patchProfile(deps, { userId, changes }), true)
  })
  router.delete(endpoints.deleteSelf.path, jsonBody, async (ctx) => {
    const { userId } = memberOf(ctx)
    const input = parseInput(endpoints.deleteSelf.body, ctx.request.body)
    await deleteAccount(deps, { ...input, userId, requestId: requestIdOf(ctx) })
    ctx.body = { success: true }
  })
  router.get(endpoints.getUser.path, async (ctx) => {
    const { userId } = memberOf(ctx)
    const { id } = parseInput(endpoints.getUser.params, ctx.params)
    ctx.body = sanitizeUser(await loadUser(deps, id), id === userId)
  })
  return router
}

/** Throws user_unknown. */
async function loadUser({ orm }: Pick<Deps, 'orm'>, id: string): Promise<User> {
  const user = await orm.em.fork().findOne(User, { id })
  if (!user) throw refuse.user_unknown()
  return user
}
