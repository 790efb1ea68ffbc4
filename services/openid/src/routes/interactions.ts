import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { answer, requireUser, type AppState } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { decideDeviceCode, readDeviceCode } from '../operations/device-code.ts'
import { decideInteraction, readInteraction } from '../operations/interaction.ts'

/** What a person decides about an application's request, or a device's code. Contract: 3, Applications. */
export function interactionRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  answer(router, endpoints.readInteraction, async ({ uid }, ctx) => {
    await deps.requireEnabled()
    return await readInteraction(deps, ctx, { uid, caller: requireUser(ctx) })
  })
  answer(router, endpoints.decideInteraction, async ({ uid, decision }, ctx) => {
    await deps.requireEnabled()
    return await decideInteraction(deps, ctx, { uid, decision, caller: requireUser(ctx) })
  })
  answer(router, endpoints.readDeviceCode, async ({ userCode }, ctx) => {
    await deps.requireEnabled()
    return await readDeviceCode(deps, { userCode, caller: requireUser(ctx) })
  })
  answer(router, endpoints.decideDeviceCode, async ({ uid, decision }, ctx) => {
    await deps.requireEnabled()
    await decideDeviceCode(deps, { uid, decision, caller: requireUser(ctx) })
  })
  return router
}
