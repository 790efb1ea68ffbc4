import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { answer, callerOf, describeClient, requestIdOf, type AppState } from '@gatehouse/service-kit'
import type { ParameterizedContext } from 'koa'
import type { Deps } from '../deps.ts'
import { logIn, type LoggedIn } from '../operations/credentials/log-in.ts'
import { recover } from '../operations/credentials/recover.ts'
import { confirmEmail } from '../operations/email/own-email.ts'
import { requestRecovery } from '../operations/email/request-recovery.ts'
import { logInByPasskey, offerPasskeyLogin } from '../operations/passkeys/log-in-by-passkey.ts'
import { checkUsername } from '../operations/registration/check-username.ts'
import { offerChallenge } from '../operations/registration/proof-of-work.ts'
import { registerFederated } from '../operations/registration/register-federated.ts'
import { registerLocal } from '../operations/registration/register-local.ts'
import { readRegistration } from '../queries/list-registrations.ts'
import { loadSettings } from '../queries/load-settings.ts'
import { counted } from '../replies/counted.ts'
import { credentialsReply, instanceReply, outcomeOf, registeredReply, statusOf } from '../replies/replies.ts'

/** What a request says that is answered with a token, and who sent it. */
function withClient<Input extends object>(input: Input, ctx: ParameterizedContext<AppState>) {
  const { address } = callerOf(ctx)
  return { ...input, address, client: describeClient(ctx.req, address), requestId: requestIdOf(ctx) }
}

/** None of these routes needs a token. Contract: 3, as a whole; Spec: Registration 9. */
export function authRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  const registrations = deps.metrics.counter('gatehouse_registrations_total', 'Registrations by outcome', ['outcome'])
  const logins = deps.metrics.counter('gatehouse_logins_total', 'Logins by outcome', ['outcome'])
  /** `healed`: the home instance verified the password. */
  const replyTo = async (login: Promise<LoggedIn>) =>
    credentialsReply(deps, await counted(logins, login, ({ refreshed }) => (refreshed ? 'healed' : 'accepted')))
  answer(router, endpoints.register, async (input, ctx) => {
    const { homeInstance, ...registration } = withClient(input, ctx)
    const registering =
      homeInstance === null
        ? registerLocal(deps, registration)
        : registerFederated(deps, { ...registration, homeInstance })
    const registered = await counted(registrations, registering, outcomeOf('upgraded'))
    ctx.status = statusOf(registered)
    return registeredReply(deps, registered)
  })
  answer(router, endpoints.readRegistration, ({ receipt }) => readRegistration(deps, receipt))
  answer(router, endpoints.checkUsername, ({ username }) => checkUsername(deps, username))
  answer(router, endpoints.proofChallenge, ({ registration }, ctx) =>
    offerChallenge(deps, { isLocal: registration === 'local', address: callerOf(ctx).address }),
  )
  answer(router, endpoints.login, (input, ctx) => replyTo(logIn(deps, withClient(input, ctx))))
  answer(router, endpoints.passkeyOptions, () => offerPasskeyLogin(deps))
  answer(router, endpoints.logInByPasskey, (input, ctx) => replyTo(logInByPasskey(deps, withClient(input, ctx))))
  answer(router, endpoints.recover, async (input, ctx) => {
    return credentialsReply(deps, await recover(deps, withClient(input, ctx)))
  })
  answer(router, endpoints.requestRecovery, async (input, ctx) => {
    await requestRecovery(deps, input)
    ctx.status = 202
    return { success: true }
  })
  answer(router, endpoints.confirmEmail, (input) => confirmEmail(deps, input))
  answer(router, endpoints.instanceInfo, async () => instanceReply(await loadSettings(deps.orm.em), deps))
  return router
}
