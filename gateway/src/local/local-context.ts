import { createHash } from 'node:crypto'
import type Koa from 'koa'
import type { RequestContext } from '../http/request-context.ts'
import type { HeaderList } from '../http/response-headers.ts'

type LocalState = { context: RequestContext }

export type LocalContext = Koa.ParameterizedContext<LocalState>
export type LocalMiddleware = Koa.Middleware<LocalState>

export function setHeaders(ctx: LocalContext, headers: HeaderList): void {
  for (let index = 0; index + 1 < headers.length; index += 2) ctx.set(headers[index] ?? '', headers[index + 1] ?? '')
}

export function etagOf(content: string | Buffer): string {
  return `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
}

/** `ctx.fresh` ignores If-None-Match beside `Cache-Control: no-cache`, which fetch() adds. */
export function setEtag(ctx: LocalContext, etag: string): void {
  ctx.set('ETag', etag)
  const known = ctx.get('If-None-Match').split(',')
  if (known.some((one) => one.trim().replace(/^W\//, '') === etag)) ctx.status = 304
}
