import Router from '@koa/router'
import { endpoints } from '@gatehouse/contracts'
import { answer, callerOf, describeClient, requestIdOf, requireUser, type AppState } from '@gatehouse/service-kit'
import type { ParameterizedContext } from 'koa'
import type { Deps } from '../deps.ts'
import { finishSignIn } from '../operations/providers/finish-sign-in.ts'
import { linkIdentity, unlinkIdentity } from '../operations/providers/own-identities.ts'
import { startSignIn } from '../operations/providers/start-sign-in.ts'
import { takeCallback } from '../operations/providers/take-callback.ts'
import { policy } from '../policy.ts'
import { listLinkedIdentities } from '../queries/list-identities.ts'
import { counted } from '../replies/counted.ts'
import { outcomeOf, registeredReply, statusOf } from '../replies/replies.ts'

type Context = ParameterizedContext<AppState>

/** A cookie binds the callback to the browser, so a stranger's link logs nobody in. Contract: 3, Identity providers. */
export function providerRoutes(deps: Deps): Router<AppState> {
  const router = new Router<AppState>({ sensitive: true })
  const { origin } = deps.config.publicAddress
  const isHttps = origin.startsWith('https:')
  const cookieName = isHttps ? '__Host-gatehouse-flow' : 'gatehouse-flow'
  const cookieOf = (ctx: Context): string | undefined => {
    const pairs = ctx
      .get('cookie')
      .split(';')
      .map((pair) => pair.trim().split('='))
    return pairs.find(([name, value = '']) => name === cookieName && /^[\w-]{43}$/.test(value))?.[1]
  }
  const attributes = `Path=/; Max-Age=${policy.providerFlowMs / 1_000}; HttpOnly; SameSite=Lax${isHttps ? '; Secure' : ''}`
  const help = 'Sign-ins at identity providers by outcome'
  const signIns = deps.metrics.counter('gatehouse_provider_sign_ins_total', help, ['provider', 'outcome'])

  const logins = deps.metrics.counter('gatehouse_logins_total', 'Logins by outcome', ['outcome'])

  answer(router, endpoints.listProviders, () => ({
    providers: deps.providers.list().map(({ id, name, icon }) => ({ id, name, ...(icon && { icon }) })),
    passwords: deps.config.passwords,
  }))
  answer(router, endpoints.startProvider, async (input, ctx) => {
    const caller = callerOf(ctx).account ?? null
    const { url, cookie } = await startSignIn(deps, { ...input, caller, cookie: cookieOf(ctx) })
    ctx.set('Set-Cookie', `${cookieName}=${cookie}; ${attributes}`)
    return { url }
  })
  answer(router, endpoints.providerCallback, async ({ provider }, ctx) => {
    const callback = { provider, search: ctx.search, cookie: cookieOf(ctx), requestId: requestIdOf(ctx) }
    const outcome = await takeCallback(deps, callback)
    const isKnown = deps.providers.list().some(({ id }) => id === provider)
    if (isKnown) signIns.inc({ provider, outcome: 'error' in outcome ? outcome.error : 'accepted' })
    ctx.set('Location', `/sign-in#${fragmentOf(outcome)}`)
    return ''
  })
  answer(router, endpoints.finishProvider, async (input, ctx) => {
    const { address, account } = callerOf(ctx)
    const finish = { ...input, address, requestId: requestIdOf(ctx) }
    if (account) return await linkIdentity(deps, { ...finish, caller: account })
    const finishing = finishSignIn(deps, { ...finish, client: describeClient(ctx.req, address) })
    const finished = await counted(logins, finishing, outcomeOf('accepted'))
    ctx.status = statusOf(finished)
    return registeredReply(deps, finished)
  })
  answer(router, endpoints.listLinkedIdentities, (_, ctx) => listLinkedIdentities(deps, requireUser(ctx).userId))
  answer(router, endpoints.unlinkIdentity, async (input, ctx) => {
    const { address } = callerOf(ctx)
    await unlinkIdentity(deps, { ...input, caller: requireUser(ctx), address, requestId: requestIdOf(ctx) })
  })
  return router
}

/** A fragment reaches no server, and no log. */
function fragmentOf(outcome: Awaited<ReturnType<typeof takeCallback>>): string {
  const { state } = outcome
  if ('error' in outcome) return new URLSearchParams({ error: outcome.error, state }).toString()
  const { ticket, flow } = outcome
  const { purpose, provider, redirect } = flow
  return new URLSearchParams({ ticket, purpose, provider, ...(redirect && { redirect }), state }).toString()
}
