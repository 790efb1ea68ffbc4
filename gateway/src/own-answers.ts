import { createHash } from 'node:crypto'
import { commonErrors } from '@gatehouse/runtime'
import type { Exchange } from './exchange.ts'
import { createDocsPage } from './openapi/docs-page.ts'
import { createOpenApi } from './openapi/openapi.ts'

type OwnAnswer = (exchange: Exchange) => void

/** What the gateway answers itself under /api, and /ws without an upgrade. Contract: 8. */
const ownAnswers: Record<string, OwnAnswer> = {
  '/api/health': (exchange) => exchange.sendJson(200, { status: 'ok' }),
  '/api/openapi.json': (exchange) => sendDocument(exchange, openApiDocument()),
  '/api/docs': (exchange) => sendDocument(exchange, docsDocument()),
  '/ws': (exchange) => {
    const remedy = { error: 'Connect with a WebSocket', statusCode: 426 }
    exchange.sendJson(426, remedy, ['Upgrade', 'websocket', 'Connection', 'Upgrade'])
  },
}

type Document = { type: string; contentPolicy: string; text: string; etag: string }

const openApiDocument = once(() => {
  const text = JSON.stringify(createOpenApi())
  return { type: 'application/json; charset=utf-8', contentPolicy: "default-src 'none'", text, etag: etagOf(text) }
})

const docsDocument = once(() => {
  const { html, contentPolicy } = createDocsPage(createOpenApi())
  return { type: 'text/html; charset=utf-8', contentPolicy, text: html, etag: etagOf(html) }
})

/** Throws method_not_allowed. */
export function findOwnAnswer(method: string, path: string): OwnAnswer | undefined {
  if (!isOwnPath(path)) return undefined
  if (method !== 'GET' && method !== 'HEAD') {
    throw commonErrors.method_not_allowed({ headers: { Allow: 'GET, HEAD, OPTIONS' } })
  }
  return (exchange) => {
    exchange.route = path
    ownAnswers[path]!(exchange)
  }
}

export function isOwnPath(path: string): boolean {
  return Object.hasOwn(ownAnswers, path)
}

function sendDocument(exchange: Exchange, { type, contentPolicy, text, etag }: Document): void {
  const headers = ['Cache-Control', 'no-cache', 'ETag', etag, 'Content-Security-Policy', contentPolicy]
  if (exchange.request.headers['if-none-match'] === etag) return exchange.sendEmpty(304, headers)
  headers.push('Content-Type', type, 'Content-Length', String(Buffer.byteLength(text)))
  exchange.response.writeHead(200, exchange.apiHeaders(headers))
  exchange.response.end(text)
}

function etagOf(text: string): string {
  return `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`
}

function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}
