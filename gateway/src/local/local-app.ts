import type { IncomingMessage } from 'node:http'
import Koa from 'koa'
import { serveWebApp } from './web-app.ts'
import type { LocalContext } from './local-context.ts'
import { serveLocalRoutes } from './local-routes.ts'
import type { RequestContext } from '../http/request-context.ts'
import type { FindRoute } from '../http/route-table.ts'
import type { Deps } from '../deps.ts'

export function createLocalApp(
  { config, statementKeys }: Pick<Deps, 'config' | 'statementKeys'>,
  findRoute: FindRoute,
): (context: RequestContext) => Promise<void> {
  const app = new Koa<LocalContext['state']>()
  app.silent = true
  app.context.onerror = function (this: LocalContext, error: unknown) {
    if (error === null || error === undefined || this.res.destroyed) return
    if (!this.res.headersSent) for (const name of this.res.getHeaderNames()) this.remove(name)
    this.res.statusMessage = ''
    this.state.context.fail(error)
  }
  const contexts = new WeakMap<IncomingMessage, RequestContext>()
  app.use(async (ctx, next) => {
    const context = contexts.get(ctx.req)
    if (context) ctx.state.context = context
    await next()
  })
  app.use(serveLocalRoutes(findRoute, statementKeys))
  app.use(serveWebApp(config.webRoot))
  const handle = app.callback()
  return async (context) => {
    contexts.set(context.request, context)
    await handle(context.request, context.response)
  }
}
