import type { ActingCaller } from '@gatehouse/authority'
import type { startProviderBody } from '@gatehouse/contracts'
import { ProviderFlow, type User } from '@gatehouse/domain'
import { loadClient, providerTimeoutMs, unavailable } from '@gatehouse/providers'
import { randomToken, refuse } from '@gatehouse/runtime'
import type { z } from 'zod'
import type { Deps, OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { hashSecret } from '../../hashing/hash-secret.ts'
import { loadCaller } from '../../queries/load-user.ts'

export type SignInDeps = OperationContext & Pick<Deps, 'providers' | 'config'>

/** `cookie`: the secret that the browser holds already. `caller`: who links or confirms. */
type Start = z.infer<typeof startProviderBody> & {
  provider: string
  cookie: string | undefined
  caller: ActingCaller | null
}

/** Where the provider sends the browser back. */
export const callbackUrl = ({ config }: Pick<Deps, 'config'>, provider: string): string =>
  `${config.publicAddress.origin}/api/auth/providers/${provider}/callback`

/** Throws providers_local_only. Contract: 3, Identity providers. */
export function requireProviderUser(user: User): void {
  if (!user.isLocal()) throw refuse.providers_local_only()
}

/**
 * Where the browser goes, and the secret that binds it: several tabs share it. Throws provider_unknown, provider_unavailable,
 * unauthorized, providers_local_only. Contract: 3, Identity providers.
 */
export async function startSignIn(deps: SignInDeps, { provider: id, purpose, redirect, caller, ...browser }: Start) {
  const provider = deps.providers.require(id)
  const userId = purpose === 'login' ? null : await requireLinker(deps, caller)
  const client = await loadClient()
  const signal = AbortSignal.timeout(providerTimeoutMs)
  const configuration = await deps.providers.connect(provider, signal).catch((cause: unknown) => {
    deps.log.warn({ err: cause, provider: id }, 'identity provider cannot be used')
    throw unavailable(cause)
  })
  const cookie = browser.cookie ?? randomToken(deps.random, policy.providerSecretBytes)
  const state = randomToken(deps.random, policy.providerSecretBytes)
  const nonce = randomToken(deps.random, policy.providerSecretBytes)
  const codeVerifier = client.randomPKCECodeVerifier()
  const url = client.buildAuthorizationUrl(configuration, {
    redirect_uri: callbackUrl(deps, id),
    scope: provider.scopes.join(' '),
    state,
    nonce,
    code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
    ...(purpose === 'confirm' && { max_age: '0' }),
  })
  const em = deps.orm.em.fork()
  const now = await deps.databaseTime(em)
  await em.insert(ProviderFlow, {
    stateHash: hashSecret(state),
    cookieHash: hashSecret(cookie),
    provider: id,
    issuer: provider.issuer,
    purpose,
    userId,
    nonce,
    codeVerifier,
    redirect: redirect ?? null,
    createdAt: new Date(now),
    expiresAt: new Date(now + policy.providerFlowMs),
  })
  return { url: url.href, cookie }
}

async function requireLinker(deps: SignInDeps, caller: ActingCaller | null): Promise<string> {
  if (!caller) throw refuse.unauthorized()
  const user = await loadCaller(deps, caller)
  requireProviderUser(user)
  return user.id
}
