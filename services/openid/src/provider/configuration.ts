import { hkdfSync } from 'node:crypto'
import { applicationScopes } from '@gatehouse/contracts'
import type * as library from 'oidc-provider'
import type { ProviderClient, ProviderContext } from 'oidc-provider'
import { ownMetadata, sectorOfClient } from '../clients/client.ts'
import { isSecretOf } from '../clients/secrets.ts'
import type { Deps } from '../deps.ts'
import type { KeySet } from '@gatehouse/openid-keys'
import { lifetimes } from '../policy.ts'
import { claimsOfScopes, createFindAccount } from './account.ts'
import { bitsOf, createAdapter } from './adapter.ts'
import { createStoredLimit } from './limit-stored.ts'

export type Library = typeof library

export type ConfigurationDeps = Pick<Deps, 'orm' | 'clock' | 'config' | 'subjects'> & { onReuse(model: string): void }

/** `/oauth2/…`; the page where a device's code is typed is one of the web app. */
export const routes = {
  authorization: '/oauth2/auth',
  code_verification: '/device',
  device_authorization: '/oauth2/device/auth',
  end_session: '/oauth2/end-session',
  introspection: '/oauth2/introspect',
  jwks: '/oauth2/jwks',
  pushed_authorization_request: '/oauth2/par',
  revocation: '/oauth2/revoke',
  token: '/oauth2/token',
  userinfo: '/oauth2/userinfo',
}

/**
 * Each default of oidc-provider 9.13 that is not ours, with its reason. What is not named here was read, and is as it should be:
 * S256 as the only method of PKCE, `iss` in answers, state and nonce, 256 bits, exact comparison of redirect URIs, cookies HttpOnly
 * and SameSite=Lax, no tokens in a query, no registration, no request objects, no implicit or hybrid form of claims.
 */
export function createConfiguration(deps: ConfigurationDeps, loaded: Library, keys: KeySet) {
  const { origin } = deps.config.publicAddress
  const lost = (model: string) =>
    model === 'PushedAuthorizationRequest' ? new loaded.errors.InvalidRequestUri() : new loaded.errors.InvalidGrant()
  const unstorable = () =>
    new loaded.errors.InvalidRequest('the request is too long, or has characters that are not allowed')
  const limited = () => new loaded.errors.OIDCProviderError(429, 'too_many_requests')
  const limitStored = createStoredLimit(deps, limited)
  return {
    // By default memory, which no other replica has.
    adapter: createAdapter({ ...deps, lost, unstorable, limitStored }),
    findAccount: createFindAccount(deps),
    jwks: keys,
    // By default no key signs the cookies. Every replica makes the same one.
    cookies: { keys: cookieKeys(deps.config), names: cookieNames, long: { sameSite: 'none' } },
    // Off by default. The standards demand it of the authorization and the end-session endpoint. The library allows it only with the
    // cookie of its session for all sites; that cookie never leaves: providers.ts. OpenID Connect Core, 3.1.2.1; RP-Initiated Logout, 2.
    enableHttpPostMethods: true,
    routes,
    // By default `code id_token` and `id_token` too, which hand tokens through the browser. RFC 9700, 2.1.2.
    responseTypes: ['code'],
    scopes: applicationScopes,
    // By default `public` alone. An application chooses.
    subjectTypes: ['public', 'pairwise'],
    pairwiseIdentifier: async (_ctx: unknown, accountId: string, client: ProviderClient) =>
      await deps.subjects.of(sectorOfClient(client), accountId),
    claims: { ...claimsOfScopes, auth_time: null, iss: null },
    // By default only public applications need it. RFC 9700, 2.1.1.
    pkce: { required: () => true },
    // By default an application with one redirect URI need not name it.
    allowOmittingSingleRegisteredRedirectUri: false,
    // By default also by JWT, which would need the secret itself.
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    // By default more. We have keys for these.
    enabledJWA: Object.fromEntries(signingUses.map((use) => [use, ['RS256', 'EdDSA']])),
    clientDefaults: { grant_types: ['authorization_code'], response_types: ['code'] },
    extraClientMetadata: { properties: ownMetadata },
    formats: { bitsOfOpaqueRandomness: (_ctx: unknown, token: { kind: string }) => bitsOf(token.kind) },
    // By default a token dies with a session of the browser, which there is none of.
    expiresWithSession: () => false,
    // By default only near its end. RFC 9700, 4.14.
    rotateRefreshToken: true,
    // The end of a token is that of its grant, in one transaction.
    revokeGrantPolicy: () => true,
    // By default also what a browser had allowed before. Each decision makes a grant of its own.
    loadExistingGrant: async (ctx: ProviderContext) => {
      const grantId = ctx.oidc.result?.consent?.grantId
      return grantId === undefined ? undefined : await ctx.oidc.provider.Grant.find(grantId)
    },
    ttl: lifetimes,
    interactions: {
      policy: createPolicy(loaded),
      url: (_ctx: unknown, { uid }: { uid: string }) => `/oauth2/interaction/${uid}`,
    },
    // By default pages of the library. The web app tells it; texts of a request are not repeated.
    renderError,
    // By default the same, told in a warning: a page of an application may read what is about its own people.
    clientBasedCORS,
    features: createFeatures(loaded, origin),
  }
}

/** A page that a person would see is the web app's. Others get the error as JSON. */
function renderError(ctx: ProviderContext, out: { error: string }): void {
  const isPage = ctx.method === 'GET' || pages.has(ctx.path)
  if (!isPage || ctx.accepts('json', 'html') !== 'html') return void (ctx.body = { error: out.error })
  ctx.status = 303
  ctx.redirect(`/authorize#error=${encodeURIComponent(out.error)}`)
}

/** Those to which browsers post forms of applications. */
const pages: ReadonlySet<string> = new Set([routes.authorization, routes.end_session])

function clientBasedCORS(ctx: ProviderContext, origin: string, client: ProviderClient): boolean {
  if (origin === 'null' || (ctx.oidc.route !== 'userinfo' && client.clientAuthMethod !== 'none')) return false
  return client.redirectUris.some((uri) => URL.canParse(uri) && new URL(uri).origin === origin)
}

const signingUses = [
  'clientAuthSigningAlgValues',
  'idTokenSigningAlgValues',
  'userinfoSigningAlgValues',
  'introspectionSigningAlgValues',
  'authorizationSigningAlgValues',
  'requestObjectSigningAlgValues',
]

export const cookieNames = { session: 'gatehouse_openid', interaction: 'gatehouse_asked', resume: 'gatehouse_resume' }

function cookieKeys({ encryptionSecret, previousEncryptionSecrets = [] }: Deps['config']): string[] {
  const derive = (secret: string) => hkdfSync('sha256', secret, '', 'gatehouse openid cookies', 32)
  return [encryptionSecret, ...previousEncryptionSecrets].map((one) => Buffer.from(derive(one)).toString('base64url'))
}

/** Each request asks the person at the page: no cookie says who is there. `prompt=none` is login_required always. */
function createPolicy({ errors, interactionPolicy: { Check, Prompt } }: Library) {
  const undecided = ({ oidc: { result, account } }: ProviderContext) => {
    // The library takes for granted that who has decided is still there.
    if (result?.login && !account) throw new errors.AccessDenied()
    return !result?.login
  }
  const undecidedCheck = new Check('undecided', 'End-User authentication is required', 'login_required', undecided)
  const byName = (name: string) => new Prompt({ name, requestable: true })
  return [new Prompt({ name: 'login', requestable: true }, undecidedCheck), byName('consent'), byName('select_account')]
}

function createFeatures({ errors }: Library, origin: string) {
  return {
    // On by default, for development.
    devInteractions: { enabled: false },
    // On by default. Refresh tokens rotate, so nothing binds them to keys.
    dPoP: { enabled: false },
    // Off by default.
    deviceFlow: { enabled: true, deviceInfo: () => ({}) },
    introspection: { enabled: true, allowedPolicy: mayIntrospect },
    revocation: { enabled: true, allowedPolicy: mayRevoke },
    rpInitiatedLogout: { enabled: true },
    // The only resource is this instance: of an application that chose tokens that it verifies itself.
    resourceIndicators: {
      enabled: true,
      defaultResource: (_ctx: unknown, client: ProviderClient) =>
        client['access_tokens'] === 'jwt' ? origin : undefined,
      // What was granted as JWTs is refreshed as opaque tokens once the application no longer verifies them itself.
      useGrantedResource: (ctx: ProviderContext) => ctx.oidc.client?.['access_tokens'] === 'jwt',
      getResourceServerInfo: (_ctx: unknown, resource: string, client: ProviderClient) => {
        if (resource !== origin || client['access_tokens'] !== 'jwt') throw new errors.InvalidTarget()
        const format = { accessTokenFormat: 'jwt', jwt: { sign: { alg: 'EdDSA' } } }
        return { scope: 'openid profile', audience: client.clientId, accessTokenTTL: lifetimes.jwtSeconds, ...format }
      },
    },
  }
}

/** As by default: a public application asks about its own tokens, a server about those that are brought to it. */
function mayIntrospect(_ctx: unknown, client: ProviderClient, token: { clientId: string }): boolean {
  return client.clientAuthMethod !== 'none' || token.clientId === client.clientId
}

/** As by default, but that a foreign token is no error: RFC 7009 answers 200 for what is not known. */
const mayRevoke = (_ctx: unknown, client: ProviderClient, token: { clientId: string }) =>
  token.clientId === client.clientId

/** By default the library compares the secret itself, and knows one. Ours are hashed, and two for a day. */
export function compareSecret(this: ProviderClient, secret: string, now: number): boolean {
  const until = this['previous_secret_until']
  const secrets = {
    secretHash: textOf(this['secret_hash']),
    previousSecretHash: textOf(this['previous_secret_hash']),
    previousSecretUntil: typeof until === 'number' ? new Date(until) : null,
  }
  return isSecretOf(secrets, secret, now)
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : null)
