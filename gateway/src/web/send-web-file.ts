import { createHash } from 'node:crypto'
import { commonErrors } from '@gatehouse/runtime'
import type { Exchange } from '../exchange.ts'
import { pageContentPolicy, type HeaderList } from '../standing-headers.ts'
import { chooseEncoding } from './choose-encoding.ts'
import type { WebFile, WebFiles } from './web-files.ts'

/**
 * Answers with a file of the web app; a browser that opens any other address gets the app, which knows its own routes.
 * Throws not_found, method_not_allowed.
 */
export async function sendWebFile(web: WebFiles, exchange: Exchange, path: string): Promise<void> {
  const { request } = exchange
  exchange.route = 'web'
  const file = await web.find(path === '/' ? '/index.html' : path)
  const isNavigation = request.headers.accept?.includes('text/html') === true && !path.startsWith('/assets/')
  if (!file && !isNavigation) throw commonErrors.not_found()
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    throw commonErrors.method_not_allowed({ headers: { Allow: 'GET, HEAD' } })
  }
  const shown = file ?? (await web.find('/index.html'))
  if (!shown) return sendNotBuilt(exchange)
  await sendFile(exchange, shown)
}

async function sendFile(exchange: Exchange, file: WebFile): Promise<void> {
  const encoding = chooseEncoding(exchange.request.headers['accept-encoding'] as string | undefined)
  const smaller = encoding && (await file.encoded(encoding))
  const bytes = smaller ?? file.bytes
  const etag = `"${file.etag}${smaller ? `-${encoding}` : ''}"`
  const caching = file.isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache'
  const headers: HeaderList = ['Cache-Control', caching, 'ETag', etag, 'Vary', 'Accept-Encoding']
  headers.push('Content-Security-Policy', pageContentPolicy)
  if (matches(exchange.request.headers['if-none-match'], etag)) return send(exchange, 304, headers)
  headers.push('Content-Type', file.type, 'Content-Length', String(bytes.length))
  if (smaller) headers.push('Content-Encoding', encoding!)
  send(exchange, 200, headers, bytes)
}

function matches(header: string | undefined, etag: string): boolean {
  return header !== undefined && header.split(',').some((one) => one.trim().replace(/^W\//, '') === etag)
}

const style = 'body{font:1.1rem/1.6 system-ui;max-width:36rem;margin:20vh auto;padding:0 1.5rem}code{font-size:1em}'
const notBuilt = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Gatehouse</title><style>${style}</style>
<h1>Gatehouse is running</h1><p>Its web app has not been built here. <code>npm start</code> builds it; in a container it
comes with the image. The API works all the same: see <a href="/api/docs">its description</a>.</p></html>`
const notBuiltPolicy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`

function sendNotBuilt(exchange: Exchange): void {
  const headers = ['Content-Type', 'text/html; charset=utf-8', 'Content-Length', String(Buffer.byteLength(notBuilt))]
  headers.push('Cache-Control', 'no-store', 'Content-Security-Policy', notBuiltPolicy)
  send(exchange, 503, headers, notBuilt)
}

function send(exchange: Exchange, status: number, headers: HeaderList, body?: Buffer | string): void {
  exchange.response.writeHead(status, exchange.pageHeaders(headers))
  exchange.response.end(body)
}
