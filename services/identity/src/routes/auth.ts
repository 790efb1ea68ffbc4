import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { jsonBody, parseInput, requestIdOf } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { countLogins, countRegistrations } from '../outcomes.ts'
import { checkUsername } from '../operations/check-username.ts'
import { logIn } from '../operations/log-in.ts'
import { registerAccount } from '../operations/register-account.ts'
import { credentialsReply } from '../replies/credentials-reply.ts'

/** Contract: 3. */
export function authRoutes(deps: Deps): Router {
  const router = new Router()
  const countedRegistration = countRegistrations(deps)
  const countedLogin = countLogins(deps)
  router.post(endpoints.register.path, jsonBody, async (ctx) => {
    const input = parseInput(endpoints.register.body, ctx.request.body)
    const registered = await countedRegistration(registerAccount(deps, { ...input, requestId: requestIdOf(ctx) }))
    ctx.status = registered.created ? 201 : 200
    ctx.body = credentialsReply(deps, registered)
  })
  router.get(endpoints.checkUsername.path, async (ctx) => {
    const { username } = parseInput(endpoints.checkUsername.query, ctx.query)
    ctx.body = await checkUsername(deps, username)
  })
  router.post(endpoints.login.path, jsonBody, async (ctx) => {
    const input = parseInput(endpoints.login.body, ctx.request.body)
    const loggedIn = await countedLogin(logIn(deps, { ...input, requestId: requestIdOf(ctx) }))
    ctx.body = credentialsReply(deps, loggedIn)
  })
  return router
}
