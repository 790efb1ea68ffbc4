import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { callerHeader } from '@gatehouse/auth'
import { endpoints, type EndpointReply } from '@gatehouse/contracts'
import { refuse } from '@gatehouse/runtime'
import { send } from '@koa/send'
import Koa from 'koa'
import type { Deps } from '../deps.ts'
import { pageContentPolicy } from '../http/headers.ts'
import type { RequestContext } from '../http/request-context.ts'
import type { FindRoute } from '../http/route-target.ts'
import { policy } from '../policy.ts'
import { etagOf, serveLocalRoutes, setEtag, setHeaders } from './local-routes.ts'
import type { LocalContext, LocalMiddleware, LocalState } from './local-routes.ts'

type AppDeps = Pick<Deps, 'config' | 'signingKeys' | 'replicas' | 'signers' | 'clock' | 'log'>

/** What the gateway answers itself: its own routes, and the web app for everything outside the API. */
export function createLocalApp(deps: AppDeps, findRoute: FindRoute): (context: RequestContext) => Promise<void> {
  const app = new Koa<LocalState>()
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
  app.use(serveLocalRoutes(findRoute, deps))
  app.use(serveWebApp(deps))
  const handle = app.callback()
  return async (context) => {
    contexts.set(context.request, context)
    await handle(context.request, context.response)
  }
}

/** Programs that preview links ask for these with any Accept header. */
const previewed = /^\/(?:(?:login|register)\/?)?$/

/** Navigations get index.html, because the app has routes of its own. Throws not_found, method_not_allowed. */
function serveWebApp(deps: AppDeps): LocalMiddleware {
  const root = deps.config.webRoot
  const describe = createLinkPreviews(deps)
  return async (ctx) => {
    const { context } = ctx.state
    const { path } = context
    context.route = 'web'
    const isPreviewed = previewed.test(path)
    const isNavigation = isPreviewed || (ctx.get('Accept').includes('text/html') && !path.startsWith('/assets/'))
    const isFound = !isPreviewed && (await sendFile(ctx, root, path))
    if (!isFound && !isNavigation) throw refuse.not_found()
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') {
      throw refuse.method_not_allowed({ headers: { Allow: 'GET, HEAD' } })
    }
    if (!isFound && !(await sendFile(ctx, root, '/index.html', describe))) {
      if (!ctx.get('Accept').includes('text/html')) throw refuse.not_found()
      sendNotBuilt(ctx)
    }
    setHeaders(ctx, context.withPageHeaders([]))
  }
}

async function sendFile(ctx: LocalContext, root: string, path: string, describe?: Describe): Promise<boolean> {
  // Names under /assets/ contain a content hash.
  const isImmutable = path.startsWith('/assets/')
  try {
    const file = await send(ctx, path, { root, hidden: true })
    if (file === undefined) return false
    // An error without a listener would end the process.
    if (ctx.body instanceof Readable) ctx.body.on('error', () => undefined)
    if (!isImmutable) ctx.body = await readFile(file)
    await describe?.(ctx, join(root, path))
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
  ctx.set('Cache-Control', isImmutable ? `public, max-age=${policy.immutableSeconds}, immutable` : 'no-cache')
  ctx.set('Content-Security-Policy', pageContentPolicy)
  ctx.set('Vary', 'Accept-Encoding')
  // Two builds may have the same date.
  ctx.remove('Last-Modified')
  setEtag(ctx, etagOf(isImmutable ? path + ctx.response.get('Content-Encoding') : (ctx.body as string | Buffer)))
  if (ctx.status === 304) ctx.remove('Content-Encoding')
  return true
}

/** @koa/send throws a 4xx for a path that is missing or leaves the folder. */
function isMissing(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return ('status' in error && Number(error.status) < 500) || ('code' in error && error.code === 'ENOENT')
}

const style = 'body{font:1.1rem/1.6 system-ui;max-width:36rem;margin:20vh auto;padding:0 1.5rem}code{font-size:1em}'
const notBuiltPage = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Gatehouse</title><style>${style}</style>
<h1>Gatehouse is running</h1><p>Its web app has not been built here. <code>npm start</code> builds it; in a container it
comes with the image. The API works all the same: see <a href="/api/docs">its description</a>.</p></html>`
const notBuiltPolicy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`

function sendNotBuilt(ctx: LocalContext): void {
  ctx.status = 503
  ctx.set('Cache-Control', 'no-store')
  ctx.set('Content-Security-Policy', notBuiltPolicy)
  ctx.type = 'text/html; charset=utf-8'
  ctx.body = notBuiltPage
}

type Described = Pick<EndpointReply<'instanceInfo'>, 'name' | 'description' | 'logo'>
type Describe = ReturnType<typeof createLinkPreviews>

/** For programs that preview links and run no script. Without an answer of identity the last name stands. */
function createLinkPreviews(deps: Pick<Deps, 'replicas' | 'signers' | 'clock' | 'log' | 'config'>) {
  const { clock, config } = deps
  let instance: Described | null = null
  let askedAt = -Infinity
  let asking: Promise<void> | null = null

  const ask = async (): Promise<void> => {
    askedAt = clock.now()
    instance = (await fetchInstance(deps)) ?? instance
    asking = null
  }
  return async (ctx: LocalContext, file: string): Promise<void> => {
    if (clock.now() - askedAt > policy.linkPreviewMs) asking ??= ask()
    if (!instance) await asking
    const page = await readFile(file, 'utf8')
    const described = instance && describePage(page, instance, config.publicAddress.origin, ctx)
    if (described === null || described === page) return
    ctx.remove('Content-Encoding')
    ctx.body = described
  }
}

async function fetchInstance({ replicas, signers, log }: Pick<Deps, 'replicas' | 'signers' | 'log'>) {
  const [replica] = replicas.identity.candidates()
  if (!replica) return null
  try {
    const { statusCode, body } = await replica.pools.json.request({
      path: endpoints.instanceInfo.path,
      method: 'GET',
      headers: { [callerHeader]: signers.identity.sign({ address: 'gateway', account: null }) },
      signal: AbortSignal.timeout(policy.accountStatesQueryMs),
    })
    const reply: unknown = await body.json()
    if (statusCode !== 200) throw new Error(`identity answered ${statusCode}`)
    return endpoints.instanceInfo.replies[200].parse(reply)
  } catch (error) {
    log.warn({ err: error, replica: replica.origin }, 'the name of the instance could not be read')
    return null
  }
}

const escape = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

function describePage(page: string, instance: Described, origin: string, { url, state }: LocalContext): string {
  const { name, description, logo } = instance
  const isInvite = /[?&]invite=/.test(url)
  const shown = {
    title: name,
    description: isInvite ? `You are invited to ${name}.` : (description ?? `Log in to ${name}, or create an account.`),
    image: origin + (logo ? `/api/uploads/${logo}` : '/preview.png'),
    url: origin + state.context.path,
    type: 'website',
  }
  const tags = Object.entries(shown).map(([key, text]) => `<meta property="og:${key}" content="${escape(text)}">`)
  const title = `<title>${escape(name)}</title>${tags.join('')}`
  return page.replace(/<title>[^<]*<\/title>/, () => title)
}
