import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { answer, requestIdOf, type AppState } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'
import { logOutByProvider } from '../operations/providers/log-out-by-provider.ts'
import { counted } from '../replies/counted.ts'

/** Providers call it: their logout token stands for a bearer token. Contract: 3, Identity providers. */
export function providerLogoutRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  const labels = ['provider', 'outcome']
  const logouts = deps.metrics.counter('gatehouse_provider_logouts_total', 'Logouts by identity providers', labels)
  answer(router, endpoints.backChannelLogout, async (input, ctx) => {
    const provider = deps.providers.require(input.provider)
    const { logout_token: logoutToken } = ctx.state.body as { logout_token?: unknown }
    const logout = logOutByProvider(deps, { provider, logoutToken, requestId: requestIdOf(ctx) })
    const ofProvider = { inc: ({ outcome }: { outcome: string }) => logouts.inc({ provider: provider.id, outcome }) }
    await counted(ofProvider, logout, () => 'accepted')
  })
  return router
}
