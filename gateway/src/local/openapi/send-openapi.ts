import { etagOf, setEtag, type LocalContext } from '../local-context.ts'
import { createDocsPage } from './docs-page.ts'
import { createOpenApi } from './openapi.ts'

type Document = { type: string; contentPolicy: string; text: string; etag: string }

let openApi: Document | undefined
let docs: Document | undefined

/** Contract: 8. */
export function sendOpenApi(ctx: LocalContext): void {
  send(ctx, (openApi ??= createOpenApiDocument()))
}

/** Contract: 8. */
export function sendApiDocs(ctx: LocalContext): void {
  send(ctx, (docs ??= createDocsDocument()))
}

function createOpenApiDocument(): Document {
  const text = JSON.stringify(createOpenApi())
  return { type: 'application/json; charset=utf-8', contentPolicy: "default-src 'none'", text, etag: etagOf(text) }
}

function createDocsDocument(): Document {
  const { html, contentPolicy } = createDocsPage(createOpenApi())
  return { type: 'text/html; charset=utf-8', contentPolicy, text: html, etag: etagOf(html) }
}

function send(ctx: LocalContext, { type, contentPolicy, text, etag }: Document): void {
  ctx.set('Cache-Control', 'no-cache')
  ctx.set('Content-Security-Policy', contentPolicy)
  ctx.type = type
  ctx.body = text
  setEtag(ctx, etag)
}
