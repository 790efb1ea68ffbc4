import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { callerOf, jsonBody, parseInput, requestIdOf, type AppState } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { logIn } from '../operations/credentials/log-in.ts'
import { checkUsername } from '../operations/registration/check-username.ts'
import { registerFederated } from '../operations/registration/register-federated.ts'
import { registerLocal } from '../operations/registration/register-local.ts'
import { loadSettings } from '../queries/load-settings.ts'
import { credentialsReply } from '../replies/credentials-reply.ts'
import { instanceReply } from '../replies/instance-replies.ts'

/** Contract: 3; Spec: Registration 9. */
export function authRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  router.post(endpoints.register.path, jsonBody, async (ctx) => {
    const input = parseInput(endpoints.register.body, ctx.request.body)
    const registration = { ...input, address: callerOf(ctx).address, requestId: requestIdOf(ctx) }
    const { homeInstance } = input
    const registering =
      homeInstance === null
        ? registerLocal(deps, registration)
        : registerFederated(deps, { ...registration, homeInstance })
    const registered = await deps.counters.registration(registering)
    ctx.status = registered.created ? 201 : 200
    ctx.body = credentialsReply(deps, registered)
  })
  router.get(endpoints.checkUsername.path, async (ctx) => {
    const { username } = parseInput(endpoints.checkUsername.query, ctx.query)
    ctx.body = await checkUsername(deps, username)
  })
  router.post(endpoints.login.path, jsonBody, async (ctx) => {
    const input = parseInput(endpoints.login.body, ctx.request.body)
    const { address } = callerOf(ctx)
    const loggedIn = await deps.counters.login(logIn(deps, { ...input, address, requestId: requestIdOf(ctx) }))
    ctx.body = credentialsReply(deps, loggedIn)
  })
  router.get(endpoints.instanceInfo.path, async (ctx) => {
    ctx.body = instanceReply(await loadSettings(deps.orm.em), deps.config)
  })
  return router
}
