import { assertCallerCurrent, findLogin, type ActingCaller } from '@gatehouse/authority'
import { applicationScopes, isNativeUri } from '@gatehouse/contracts'
import { transaction } from '@gatehouse/database'
import { ApplicationConsent, type Application } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Context } from 'koa'
import type { ProviderInteraction } from 'oidc-provider'
import { findApplication } from '../clients/client.ts'
import type { Deps } from '../deps.ts'
import { insertGrant } from '../grants/allow.ts'
import { isLoginDue } from '../grants/authentication.ts'
import { withPublicAddress } from '../provider/providers.ts'

type Http = Pick<Context, 'req' | 'res'>
type FindDeps = Pick<Deps, 'orm' | 'config' | 'providers'>
type JudgeDeps = Pick<Deps, 'subjects'>
type AllowDeps = JudgeDeps & Pick<Deps, 'clock' | 'random' | 'config'>
type InteractionInput = { uid: string; caller: ActingCaller }

/** Throws interaction_unknown: it is over, or its cookie is in another browser. */
async function findInteraction(deps: FindDeps, http: Http, uid: string) {
  const provider = await deps.providers.current()
  const { host, protocol } = new URL(deps.config.publicAddress.origin)
  withPublicAddress(http, host, protocol)
  const interaction = await provider.interactionDetails(http.req, http.res).catch((error: unknown) => {
    if (error instanceof Error && error.name === 'SessionNotFound') throw refuse.interaction_unknown()
    throw error
  })
  if (interaction.uid !== uid) throw refuse.interaction_unknown()
  const application = await findApplication(deps.orm.em.fork(), String(interaction.params['client_id']))
  if (!application) throw refuse.interaction_unknown()
  return { provider, interaction, application }
}

const scopesOf = ({ params }: ProviderInteraction) => knownScopes(String(params['scope'] ?? ''))

/** Others that are asked for are ignored. OpenID Connect Core, 3.1.2.1. */
export function knownScopes(scope: string): string[] {
  const words = new Set(scope.split(' '))
  return applicationScopes.filter((scope) => words.has(scope))
}

/** What the page shows before a person decides. Contract: 3, Applications. */
export async function readInteraction(deps: FindDeps & JudgeDeps, http: Http, { uid, caller }: InteractionInput) {
  const { interaction, application } = await findInteraction(deps, http, uid)
  const { params } = interaction
  const { isDue } = await judgeLogin(deps, deps.orm.em.fork(), { interaction, application, caller })
  const hint = params['login_hint']
  return {
    application: askingApplication(application, String(params['redirect_uri'] ?? '')),
    scopes: scopesOf(interaction),
    isConsentNeeded: await isConsentNeeded(deps, { interaction, application, caller }),
    prompt: isDue ? ('login' as const) : ('consent' as const),
    ...(typeof hint === 'string' && { loginHint: hint }),
  }
}

export function askingApplication({ id, name }: Application, redirectUri: string) {
  const url = URL.canParse(redirectUri) ? new URL(redirectUri) : undefined
  return { id, name, redirectHost: url ? url.host || url.protocol.slice(0, -1) : null }
}

type Asking = { interaction: ProviderInteraction; application: Application; caller: ActingCaller }

async function judgeLogin(deps: JudgeDeps, em: EntityManager, { interaction, application, caller }: Asking) {
  const authTime = await findLogin(em, caller)
  const subject = await deps.subjects.of(application.sector ?? null, caller.userId)
  return { authTime, isDue: isLoginDue(interaction, { authTime, subject }) }
}

async function isConsentNeeded(
  deps: Pick<Deps, 'orm'>,
  { interaction, application, caller }: Asking,
): Promise<boolean> {
  // Any program on the device can be at that address, and ask in the name of this one. RFC 8252, 8.6.
  if (application.type === 'public' && isNativeUri(String(interaction.params['redirect_uri']))) return true
  if (application.skipConsent) return false
  if (
    String(interaction.params['prompt'] ?? '')
      .split(' ')
      .includes('consent')
  )
    return true
  const of = { accountId: caller.userId, applicationId: application.id }
  const consent = await deps.orm.em.fork().findOne(ApplicationConsent, of)
  return !consent || scopesOf(interaction).some((scope) => !consent.scopes.includes(scope))
}

/** Gives where the browser goes next. Throws interaction_unknown, fresh_login_required and as assertCallerCurrent. */
export async function decideInteraction(
  deps: FindDeps & AllowDeps,
  http: Http,
  input: InteractionInput & { decision: 'allow' | 'deny' },
) {
  const { uid, caller, decision } = input
  const { provider, interaction, application } = await findInteraction(deps, http, uid)
  const options = { mergeWithLastSubmission: false }
  if (decision === 'deny') {
    const denial = { error: 'access_denied', error_description: 'The person denied the request' }
    return { url: await provider.interactionResult(http.req, http.res, denial, options) }
  }
  const { grantId, authTime } = await transaction(
    deps.orm,
    (em) => allow(deps, em, { interaction, application, caller }),
    {
      accountId: caller.userId,
    },
  )
  const result = {
    login: { accountId: caller.userId, ts: authTime, remember: false },
    consent: { grantId },
    select_account: {},
  }
  return { url: await provider.interactionResult(http.req, http.res, result, options) }
}

async function allow(deps: AllowDeps, em: EntityManager, { interaction, application, caller }: Asking) {
  await assertCallerCurrent(em, caller)
  const { authTime, isDue } = await judgeLogin(deps, em, { interaction, application, caller })
  if (isDue) throw refuse.fresh_login_required()
  const grantId = await insertGrant(deps, em, { caller, application, scopes: scopesOf(interaction) })
  return { grantId, authTime: authTime ?? caller.tokenIssuedAt }
}
