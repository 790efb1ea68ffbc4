import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { answer, callerOf, describeClient, requestIdOf, type AppState } from '@gatehouse/service-kit'
import type { ParameterizedContext } from 'koa'
import type { Deps } from '../deps.ts'
import { logIn } from '../operations/credentials/log-in.ts'
import { recover } from '../operations/credentials/recover.ts'
import { logInByPasskey, offerPasskeyLogin } from '../operations/passkeys/log-in-by-passkey.ts'
import { checkUsername } from '../operations/registration/check-username.ts'
import { registerFederated } from '../operations/registration/register-federated.ts'
import { registerLocal } from '../operations/registration/register-local.ts'
import { loadSettings } from '../queries/load-settings.ts'
import { credentialsReply } from '../replies/credentials-reply.ts'
import { instanceReply } from '../replies/instance-replies.ts'

/** Who sent a request that is answered with a token. */
function senderOf(ctx: ParameterizedContext<AppState>) {
  const { address } = callerOf(ctx)
  return { address, client: describeClient(ctx.req, address), requestId: requestIdOf(ctx) }
}

/** Contract: 3; Spec: Registration 9. */
export function authRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  answer(router, endpoints.register, async (input, ctx) => {
    const registration = { ...input, ...senderOf(ctx) }
    const { homeInstance } = input
    const registering =
      homeInstance === null
        ? registerLocal(deps, registration)
        : registerFederated(deps, { ...registration, homeInstance })
    const registered = await deps.counters.registration(registering)
    ctx.status = registered.created ? 201 : 200
    return credentialsReply(deps, registered)
  })
  answer(router, endpoints.checkUsername, ({ username }) => checkUsername(deps, username))
  answer(router, endpoints.login, async (input, ctx) => {
    const loggedIn = await deps.counters.login(logIn(deps, { ...input, ...senderOf(ctx) }))
    return credentialsReply(deps, loggedIn)
  })
  answer(router, endpoints.passkeyOptions, () => offerPasskeyLogin(deps))
  answer(router, endpoints.logInByPasskey, async (input, ctx) => {
    const loggedIn = await deps.counters.login(logInByPasskey(deps, { ...input, ...senderOf(ctx) }))
    return credentialsReply(deps, loggedIn)
  })
  answer(router, endpoints.recover, async (input, ctx) =>
    credentialsReply(deps, await recover(deps, { ...input, ...senderOf(ctx) })),
  )
  answer(router, endpoints.instanceInfo, async () => instanceReply(await loadSettings(deps.orm.em), deps.config))
  return router
}
