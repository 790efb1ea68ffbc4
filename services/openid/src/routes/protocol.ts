import Router from '@koa/router'
import { protocolRoutes, type ProtocolRoute } from '@gatehouse/contracts'
import { InstanceSettings } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import { callerOf, type AppState } from '@gatehouse/service-kit'
import type { Context } from 'koa'
import type Provider from 'oidc-provider'
import type { Deps } from '../deps.ts'
import { withinRequest } from '../provider/adapter.ts'
import { withPublicAddress } from '../provider/providers.ts'

const { interaction, signalsDiscovery, signalsStream, signalsVerification, ...ofProvider } = protocolRoutes
/** notices/notices.ts answers them. */
void [signalsDiscovery, signalsStream, signalsVerification]

/** What the library answers, under the public address. Throws not_found while the setting is off. Contract: 3, Applications. */
export function openidRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  const serve = createMount(deps)
  for (const route of Object.values<ProtocolRoute>(ofProvider)) {
    const refusesHead = refuseHead(route.methods)
    router.register(route.path, [...route.methods], route.readsCookies ? [refusesHead, serve] : serve)
  }
  router.get(interaction.path, refuseHead(interaction.methods), async (ctx) => {
    await deps.requireEnabled()
    // The cookies of the library have this path: they bind the browser. The page shows what it asks for below it.
    ctx.redirect(`/authorize#${encodeURIComponent(ctx.params['uid'] ?? '')}`)
    ctx.status = 303
    ctx.set('Cache-Control', 'no-store')
  })
  return router
}

/** The router takes a HEAD for a GET, and the library would use the request up. Throws method_not_allowed. */
function refuseHead(methods: readonly string[]) {
  const headers = { Allow: methods.join(', ') }
  return async (ctx: Context, next: () => Promise<unknown>): Promise<void> => {
    if (ctx.method === 'HEAD') throw refuse.method_not_allowed({ headers })
    await next()
  }
}

function createMount({ config, providers, requireEnabled }: Deps) {
  const { host, protocol } = new URL(config.publicAddress.origin)
  const callbacks = new WeakMap<Provider, ReturnType<Provider['callback']>>()
  return async (ctx: Context): Promise<void> => {
    await requireEnabled()
    const provider = await providers.current()
    const callback = callbacks.get(provider) ?? provider.callback()
    callbacks.set(provider, callback)
    withPublicAddress(ctx, host, protocol)
    ctx.respond = false
    await withinRequest(callerOf(ctx).address, () => callback(ctx.req, ctx.res))
  }
}

/** Read again after `refreshMs`, once for all who wait. Throws not_found. */
export function createGate({ orm, clock }: Pick<Deps, 'orm' | 'clock'>, refreshMs: number) {
  let cached: { isEnabled: Promise<boolean>; until: number } | undefined
  const read = async (): Promise<boolean> => {
    const settings = await orm.em.fork().findOne(InstanceSettings, { id: 1 }, { fields: ['openidEnabled'] })
    return settings?.openidEnabled === true
  }
  return async (): Promise<void> => {
    const now = clock.now()
    if (!cached || now >= cached.until) cached = { isEnabled: read(), until: now + refreshMs }
    const current = cached
    const isEnabled = await current.isEnabled.catch((error: unknown) => {
      if (cached === current) cached = undefined
      throw error
    })
    if (!isEnabled) throw refuse.not_found()
  }
}
