import { Unavailable } from '@gatehouse/runtime'
import type { Context } from 'koa'
import type Provider from 'oidc-provider'
import type { LibraryError, ProviderClient, ProviderContext } from 'oidc-provider'
import type { Deps } from '../deps.ts'
import type { KeySet } from '@gatehouse/openid-keys'
import { keepContext, storeTokens } from './adapter.ts'
import { compareSecret, cookieNames, createConfiguration, routes, type Library } from './configuration.ts'
import { endByHint } from './end-session.ts'

type ProvidersDeps = Pick<Deps, 'orm' | 'clock' | 'config' | 'keyring' | 'subjects' | 'log' | 'metrics'>

/** Loaded at the first request, and made again when the keys change. */
export function createProviders(deps: ProvidersDeps): Deps['providers'] {
  let library: Promise<Library> | undefined
  let latest: { keys: KeySet; provider: Provider } | undefined
  const help = 'Codes and refresh tokens of applications that were used a second time'
  const reuses = deps.metrics.counter('gatehouse_openid_reuses_total', help, ['kind'])
  const onReuse = (kind: string) => reuses.inc({ kind })
  return {
    current: async () => {
      library ??= import('oidc-provider')
      const keys = await deps.keyring.current()
      if (latest?.keys === keys) return latest.provider
      if (!latest || kidsOf(latest.keys) !== kidsOf(keys)) {
        const loaded = await library
        const configuration = createConfiguration({ ...deps, onReuse }, loaded, keys)
        latest = { keys, provider: createProvider({ ...deps, onReuse }, loaded, configuration) }
      }
      latest.keys = keys
      return latest.provider
    },
  }
}

const kidsOf = ({ keys }: KeySet): string => keys.map(({ kid }) => kid).join(' ')

type ProviderDeps = ProvidersDeps & { onReuse(kind: string): void }

/** The model that was used a second time, by the grant type of the request. */
const reusedKinds: Readonly<Record<string, string>> = {
  authorization_code: 'AuthorizationCode',
  refresh_token: 'RefreshToken',
}

function createProvider(deps: ProviderDeps, { default: Provider }: Library, configuration: object): Provider {
  const provider = new Provider(deps.config.publicAddress.origin, configuration)
  // The mount says under which address it was called.
  provider.proxy = true
  Object.assign(provider.Client.prototype, {
    compareClientSecret(this: ProviderClient, secret: string) {
      return compareSecret.call(this, secret, deps.clock.now())
    },
  })
  // Applications ask these for every request that they get themselves. They have no page, store nothing, and end nothing.
  const except = without(new Set([routes.introspection, routes.userinfo]))
  provider.use(except(keepContext))
  provider.use(except(keepPagesSafe))
  provider.use(except(nameUnauthorized))
  provider.use(answerFaults(provider, deps))
  provider.use(except(endByHint(deps)))
  // No cookie says who is there: what the library would remember of the person ends with the answer.
  provider.on('authorization.success', ({ oidc }) => {
    if (oidc.session) oidc.session.destroyed = true
  })
  // The adapter counts uses at the same moment.
  provider.on('grant.revoked', ({ oidc: { route, params } }) => {
    if (route === 'token') deps.onReuse(reusedKinds[params?.['grant_type'] ?? ''] ?? 'DeviceCode')
  })
  return provider
}

type Middleware = Parameters<Provider['use']>[0]

const without =
  (paths: ReadonlySet<string>) =>
  (middleware: Middleware): Middleware =>
  (ctx, next) =>
    paths.has(ctx.path) ? next() : middleware(ctx, next)

const sessionCookie = new RegExp(`^${cookieNames.session}(\\.sig)?=`)

/**
 * A request that fails after the decision leaves the library's session in the browser, and with it no later request is known: an
 * application could lock a browser out of all others. The page of `form_post` runs its one script, whose hash the library adds.
 */
async function keepPagesSafe(ctx: ProviderContext, next: () => Promise<unknown>): Promise<void> {
  ctx.set('Content-Security-Policy', "default-src 'none'; script-src; base-uri 'none'; frame-ancestors 'none'")
  await next()
  const set = [ctx.response.get('Set-Cookie') as string | string[]].flat().filter(Boolean)
  const cookies = set.filter((line) => !sessionCookie.test(line))
  if (cookies.length < set.length) ctx.set('Set-Cookie', cookies)
}

const isNotAllowed = /grant.type\S* is not allowed for this client$/

/** The library has invalid_request for a grant type that the application does not have. RFC 6749, 5.2. */
async function nameUnauthorized(ctx: ProviderContext, next: () => Promise<unknown>): Promise<void> {
  await next()
  const body = ctx.body as { error?: string; error_description?: string } | null
  if (body?.error !== 'invalid_request' || !isNotAllowed.test(body.error_description ?? '')) return
  ctx.body = { ...body, error: 'unauthorized_client' }
}

/** The library has 500 for whatever is thrown. A database that is away is 503 everywhere else. Contract: 1, statuses. */
function answerFaults(provider: Provider, { log }: Pick<Deps, 'log'>) {
  const faults = new WeakMap<object, unknown>()
  provider.on('server_error', (ctx, err) => void faults.set(ctx.req, err))
  const refuse = (ctx: ProviderContext, failure: unknown): void => {
    const { statusCode, error, error_description } = failure as Partial<LibraryError>
    if (statusCode === undefined || error === undefined) return void faults.set(ctx.req, failure)
    ctx.status = statusCode
    ctx.body = { error, error_description }
  }
  return async (ctx: ProviderContext, next: () => Promise<unknown>): Promise<void> => {
    await next().catch((error: unknown) => refuse(ctx, error))
    // An error has used nothing.
    if (ctx.status < 400 && !faults.has(ctx.req)) await storeTokens().catch((error: unknown) => refuse(ctx, error))
    const err = faults.get(ctx.req)
    if (err === undefined) return
    const isAway = err instanceof Unavailable
    // Neither the query nor the body: they hold codes and tokens.
    if (!isAway) log.error({ err, path: ctx.path }, 'request failed')
    ctx.status = isAway ? 503 : 500
    ctx.remove('Location')
    if (isAway) ctx.set('Retry-After', '1')
    ctx.body = { error: isAway ? 'temporarily_unavailable' : 'server_error' }
  }
}

/** The gateway lets no such header in. */
export function withPublicAddress({ req }: Pick<Context, 'req'>, host: string, protocol: string): void {
  Object.assign(req.headers, { host, 'x-forwarded-host': host, 'x-forwarded-proto': protocol.slice(0, -1) })
}
