import type { ProviderCallbackError } from '@gatehouse/contracts'
import { LinkedIdentity, ProviderFlow } from '@gatehouse/domain'
import { isUnreachable, loadClient, providerTimeoutMs } from '@gatehouse/providers'
import { abortable, isRefusal, Unavailable } from '@gatehouse/runtime'
import { explain, type Provider } from '@gatehouse/service-kit'
import type { Configuration, IDToken } from 'openid-client'
import { policy } from '../../policy.ts'
import { isSubject, readClaims } from '../../providers/claims.ts'
import { hashSecret } from '../../hashing/hash-secret.ts'
import { issueTicket } from '../../providers/tickets.ts'
import { callbackUrl, type SignInDeps } from './start-sign-in.ts'

/** `search`: the query as it came. */
type Callback = { provider: string; search: string; cookie: string | undefined; requestId: string }

/** For the fragment of the page that goes on. */
type Outcome = { error: ProviderCallbackError } | { ticket: string; flow: ProviderFlow }

/**
 * Takes what a provider sent the browser back with, once, in the browser that began. All that is wrong is an outcome.
 * Contract: 3, Identity providers.
 */
export async function takeCallback(deps: SignInDeps, callback: Callback): Promise<Outcome & { state: string }> {
  const query = new URLSearchParams(callback.search)
  const states = query.getAll('state')
  const [state = ''] = states
  const { requestId } = callback
  const provider = deps.providers.list().find(({ id }) => id === callback.provider)
  try {
    const flow = states.length === 1 ? await takeFlow(deps, callback, state) : undefined
    if (!flow || provider?.issuer !== flow.issuer) return { error: 'expired', state }
    const signedIn = await readSignIn(deps, { provider, flow, query, state })
    const em = deps.orm.em.fork()
    const { issuer, purpose, userId } = flow
    const ticket = await issueTicket(deps, em, { ...signedIn, provider: provider.id, issuer, purpose, userId })
    return { ticket, flow, state }
  } catch (error) {
    const outcome = outcomeOf(error)
    const fields = { provider: provider?.id, requestId, outcome, ...reasonOf(error) }
    deps.log.warn({ ...fields, ...(outcome === 'unavailable' && { err: error }) }, 'sign-in at a provider failed')
    return { error: outcome, state }
  }
}

/** Nothing but the browser that began uses a state up. */
async function takeFlow(deps: SignInDeps, { provider, cookie }: Callback, state: string) {
  if (cookie === undefined) return undefined
  const em = deps.orm.em.fork()
  const stateHash = hashSecret(state)
  const expiresAt = { $gt: new Date(await deps.databaseTime(em)) }
  const flow = await em.findOne(ProviderFlow, { stateHash, cookieHash: hashSecret(cookie), provider, expiresAt })
  return flow && (await em.nativeDelete(ProviderFlow, { stateHash })) === 1 ? flow : undefined
}

type Returned = { provider: Provider; flow: ProviderFlow; query: URLSearchParams; state: string }

class Faulty extends Error {}
class Unusable extends Faulty {}

/** Throws what the libraries throw, and Faulty. */
async function readSignIn(deps: SignInDeps, { provider, flow, query, state }: Returned) {
  const { authorizationCodeGrant } = await loadClient()
  const signal = AbortSignal.timeout(providerTimeoutMs)
  const configuration = await deps.providers.connect(provider, signal).catch((cause: unknown) => {
    throw new Unusable('the provider cannot be used', { cause })
  })
  const url = new URL(callbackUrl(deps, provider.id))
  url.search = query.toString()
  const { nonce: expectedNonce, codeVerifier: pkceCodeVerifier } = flow
  const checks = { expectedState: state, expectedNonce, pkceCodeVerifier, idTokenExpected: true }
  const tokens = await authorizationCodeGrant(configuration, url, checks)
  const claims = tokens.claims()
  if (!claims || !isSubject(claims.sub)) throw new Faulty('no usable subject')
  if ((claims.azp ?? provider.clientId) !== provider.clientId) throw new Faulty('for another client')
  await abortable(verifySignature(deps, provider, tokens.id_token ?? ''), signal)
  const isNew = flow.purpose !== 'confirm' && !(await isKnown(deps, provider, claims.sub))
  const allClaims = isNew
    ? await readFurtherClaims({ configuration, claims, accessToken: tokens.access_token })
    : claims
  const authTime = (claims.auth_time ?? NaN) * 1_000
  // Some providers count milliseconds, which would be fresh for ever.
  const isPlausible = authTime < deps.clock.now() + policy.freshSignInMs
  return {
    subject: claims.sub,
    claims: readClaims(allClaims, provider.usernameClaim),
    authTime: isPlausible ? new Date(authTime) : null,
  }
}

/** By keys that only the provider has. openid-client leaves the signature to the connection. */
async function verifySignature({ providers }: SignInDeps, provider: Provider, token: string): Promise<void> {
  const { jwtVerify } = await import('jose')
  const { issuer, clientId: audience } = provider
  await jwtVerify(token, providers.keys(provider), { issuer, audience, algorithms, clockTolerance: 30 })
}

/** The client's secret signs nothing. */
export const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]

async function isKnown({ orm }: SignInDeps, { issuer }: Provider, subject: string): Promise<boolean> {
  return (await orm.em.fork().count(LinkedIdentity, { issuer, subject })) > 0
}

type VerifiedTokens = { configuration: Configuration; claims: IDToken; accessToken: string }

/** A name is not worth a failure. */
async function readFurtherClaims({
  configuration,
  claims,
  accessToken,
}: VerifiedTokens): Promise<Record<string, unknown>> {
  if (!configuration.serverMetadata().userinfo_endpoint) return claims
  const { fetchUserInfo } = await loadClient()
  const further = await fetchUserInfo(configuration, accessToken, claims.sub).catch(() => ({}))
  return { ...further, ...claims }
}

function outcomeOf(error: unknown): ProviderCallbackError {
  if (error instanceof Unavailable) return 'unavailable'
  if (error instanceof Unusable || isUnreachable(error)) return 'provider_unavailable'
  const isCancelled = error instanceof Error && 'error' in error && error.error === 'access_denied'
  return isCancelled ? 'cancelled' : 'provider_error'
}

/** What an operator needs, and never a token: the error codes of OAuth and their descriptions. */
function reasonOf(error: unknown) {
  if (!(error instanceof Error)) return { reason: 'unknown' }
  const details = error as Error & Partial<Record<'code' | 'error' | 'error_description', unknown>>
  const { code, error: oauthError, error_description: description } = details
  const errorName = typeof code === 'string' ? `${error.name} ${code}` : error.name
  return {
    reason: error instanceof Faulty ? explain(error) : isRefusal(error) ? explain(error.cause) : errorName,
    ...(typeof oauthError === 'string' && { oauthError: oauthError.slice(0, policy.providerErrorMax) }),
    ...(typeof description === 'string' && { description: description.slice(0, policy.providerErrorMax) }),
  }
}
