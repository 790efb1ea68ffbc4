import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { refuse } from '@gatehouse/runtime'
import { send } from '@koa/send'
import { etagOf, setEtag, setHeaders, type LocalContext, type LocalMiddleware } from './local-context.ts'
import { pageContentPolicy } from '../http/response-headers.ts'
import { policy } from '../policy.ts'
import type { createLinkPreviews } from './link-preview.ts'

/** Programs that preview links ask for these with any Accept header. */
const previewed = /^\/(?:(?:login|register)\/?)?$/

/** Navigations get index.html, because the app has routes of its own. Throws not_found, method_not_allowed. */
export function serveWebApp(root: string, describe: Describe): LocalMiddleware {
  return async (ctx) => {
    const { context } = ctx.state
    const { path } = context
    context.route = 'web'
    const isNavigation =
      previewed.test(path) || (ctx.get('Accept').includes('text/html') && !path.startsWith('/assets/'))
    const isFound = !previewed.test(path) && (await sendFile(ctx, root, path))
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
  const etag = await openFile(ctx, { root, path, isImmutable, describe })
  if (etag === undefined) return false
  ctx.set('Cache-Control', isImmutable ? `public, max-age=${policy.immutableSeconds}, immutable` : 'no-cache')
  ctx.set('Content-Security-Policy', pageContentPolicy)
  ctx.set('Vary', 'Accept-Encoding')
  // Two builds may have the same date.
  ctx.remove('Last-Modified')
  setEtag(ctx, etag)
  if (ctx.status === 304) ctx.remove('Content-Encoding')
  return true
}

type Describe = ReturnType<typeof createLinkPreviews>
type StaticFile = { root: string; path: string; isImmutable: boolean; describe: Describe | undefined }

async function openFile(
  ctx: LocalContext,
  { root, path, isImmutable, describe }: StaticFile,
): Promise<string | undefined> {
  try {
    const file = await send(ctx, path, { root, hidden: true })
    if (file === undefined) return undefined
    // An error without a listener would end the process.
    if (ctx.body instanceof Readable) ctx.body.on('error', () => undefined)
    if (isImmutable) return etagOf(path + ctx.response.get('Content-Encoding'))
    const content = await readFile(file)
    ctx.body = content
    if (!describe) return etagOf(content)
    const page = await readFile(join(root, path), 'utf8')
    const described = await describe(page, ctx.state.context.path, /[?&]invite=/.test(ctx.url))
    if (described === page) return etagOf(content)
    ctx.remove('Content-Encoding')
    ctx.body = described
    return etagOf(described)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
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
