import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { endpoints, type Endpoint } from '@gatehouse/contracts'
import { startHarness, type Harness } from './harness.ts'
import { openRaw } from './raw-client.ts'

const page = `<!doctype html><title>Gatehouse</title>${'<p>hello</p>'.repeat(200)}`
const html = { accept: 'text/html,*/*' }

async function buildWebRoot(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'gatehouse-web-'))
  await mkdir(join(root, 'assets'))
  await writeFile(join(root, 'index.html'), page)
  await writeFile(join(root, 'favicon.svg'), '<svg/>')
  await writeFile(join(root, 'assets', 'app-abc123.js'), 'x'.repeat(5_000))
  await writeFile(join(root, '..', 'outside.txt'), 'secret')
  return root
}

describe('what the gateway answers itself', () => {
  let harness: Harness
  before(async () => void (harness = await startHarness({ config: { webRoot: await buildWebRoot() } })))
  after(() => harness[Symbol.asyncDispose]())
  const get = (path: string, headers: Record<string, string> = {}) => fetch(harness.url + path, { headers })

  describe('CORS: Contract 1', () => {
    const origin = 'https://elsewhere.example'

    it('answers preflights for any origin, to be kept for a day', async () => {
      const headers = {
        origin,
        'access-control-request-method': 'PATCH',
        'access-control-request-headers': 'authorization',
      }
      const response = await fetch(`${harness.url}/api/users/@me`, { method: 'OPTIONS', headers })

      expect(response.status).to.equal(204)
      expect(response.headers.get('access-control-allow-origin')).to.equal('*')
      expect(response.headers.get('access-control-allow-methods')).to.include('PATCH')
      expect(response.headers.get('access-control-allow-headers')).to.match(/Authorization.*Content-Type/)
      expect(response.headers.get('access-control-max-age')).to.equal('86400')
      expect(response.headers.has('access-control-allow-credentials')).to.equal(false)
      expect(harness.stub.seen).to.have.length(0)
    })

    it('lets any origin read answers, refusals and limits, with the headers that it needs', async () => {
      const answers = [
        await get('/api/health', { origin }),
        await get('/api/users/@me', { origin }),
        await get('/api/nothing', { origin }),
        await get('/api/auth/check-username', { origin }),
      ]
      for (const { headers } of answers) {
        expect(headers.get('access-control-allow-origin')).to.equal('*')
        expect(headers.get('access-control-expose-headers')).to.match(/Retry-After.*RateLimit-Reset.*X-Request-Id/)
      }
    })
  })

  it('tells its health to GET and HEAD, and what is allowed to others', async () => {
    expect(await (await get('/api/health')).json()).to.deep.equal({ status: 'ok' })
    expect((await fetch(`${harness.url}/api/health`, { method: 'HEAD' })).status).to.equal(200)
    const wrong = await fetch(`${harness.url}/api/health`, { method: 'POST' })
    expect([wrong.status, wrong.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD, OPTIONS'])
  })

  it('shows the operator’s endpoints on their own port only', async () => {
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      expect((await get(path)).status).to.equal(404)
      expect((await fetch(harness.opsUrl + path)).status).to.equal(200)
    }
  })

  it('describes every endpoint in OpenAPI 3.1, with its body, refusals and limits', async () => {
    const response = await get('/api/openapi.json')
    const document = (await response.json()) as {
      openapi: string
      paths: Record<string, Record<string, { requestBody?: unknown; responses: object; security?: unknown }>>
    }

    expect(document.openapi).to.equal('3.1.0')
    for (const { method, path, body, limit, access } of Object.values(endpoints as Record<string, Endpoint>)) {
      const operation = document.paths[path.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]
      expect(operation, `${method} ${path}`).to.not.equal(undefined)
      expect(Boolean(operation!.requestBody)).to.equal(Boolean(body))
      expect('429' in operation!.responses).to.equal(Boolean(limit))
      expect(Boolean(operation!.security)).to.equal(access !== 'anyone')
    }
    const again = await get('/api/openapi.json', { 'if-none-match': response.headers.get('etag')! })
    expect(again.status).to.equal(304)
  })

  it('shows that description as a page which loads nothing', async () => {
    const response = await get('/api/docs')
    const text = await response.text()

    expect(response.headers.get('content-type')).to.equal('text/html; charset=utf-8')
    expect(response.headers.get('content-security-policy')).to.match(/default-src 'none'; style-src 'sha256-/)
    expect(text)
      .to.include('/api/auth/register')
      .and.to.not.match(/<script|src=|@import/)
  })

  describe('the web app', () => {
    it('gets its page at any address that a browser opens, checked anew each time', async () => {
      for (const path of ['/', '/login', '/channels/@me', '/admin/users?x=1']) {
        const response = await get(path, html)
        expect(response.status).to.equal(200)
        expect(response.headers.get('cache-control')).to.equal('no-cache')
        expect(response.headers.get('content-security-policy')).to.include("default-src 'self'")
        expect(response.headers.get('strict-transport-security')).to.match(/max-age=/)
        expect(await response.text()).to.equal(page)
      }
    })

    it('has files that are kept for ever when their names tell their content', async () => {
      const asset = await get('/assets/app-abc123.js')
      const icon = await get('/favicon.svg')

      expect(asset.headers.get('cache-control')).to.equal('public, max-age=31536000, immutable')
      expect(asset.headers.get('content-type')).to.equal('text/javascript; charset=utf-8')
      expect(icon.headers.get('cache-control')).to.equal('no-cache')
      expect(icon.headers.get('content-type')).to.equal('image/svg+xml')
    })

    it('is sent compressed, and not again when the browser has it', async () => {
      for (const encoding of ['br', 'gzip']) {
        const response = await get('/', { ...html, 'accept-encoding': encoding })
        const etag = response.headers.get('etag')!
        expect(response.headers.get('content-encoding')).to.equal(encoding)
        expect(response.headers.get('vary')).to.equal('Accept-Encoding')
        expect(await response.text()).to.equal(page)
        const again = await get('/', { ...html, 'accept-encoding': encoding, 'if-none-match': etag })
        expect([again.status, await again.text()]).to.deep.equal([304, ''])
      }
      expect((await get('/', { ...html, 'accept-encoding': 'identity' })).headers.has('content-encoding')).to.equal(
        false,
      )
    })

    it('does not stand for what is missing, nor for API addresses, nor outside its folder', async () => {
      expect((await get('/assets/gone.js', html)).status).to.equal(404)
      expect((await get('/gone.png')).status).to.equal(404)
      expect((await get('/api/gone', html)).status).to.equal(404)
      expect((await fetch(`${harness.url}/login`, { method: 'POST', headers: html })).status).to.equal(405)
      for (const path of ['/../outside.txt', '/assets/../../outside.txt', '/%2e%2e/outside.txt']) {
        const socket = await openRaw(harness.port)
        socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
        const answer = (await socket.toArray()).join('')
        expect(answer).to.match(/^HTTP\/1.1 40[04] /)
      }
    })

    it('is told apart from one that was not built', async () => {
      await using bare = await startHarness()
      const response = await fetch(`${bare.url}/login`, { headers: html })

      expect(response.status).to.equal(503)
      expect(await response.text()).to.include('has not been built')
    })
  })

  it('answers what it accepted before it stops, and takes nothing new', async () => {
    await using stopping = await startHarness()
    const authorization = `Bearer ${stopping.member()}`
    let release = (): void => undefined
    const reached = new Promise<void>((resolve) => {
      stopping.stub.behave = (_request, response) => {
        release = () => response.end('{"late":true}')
        resolve()
      }
    })
    const asked = fetch(`${stopping.url}/api/users/@me`, { headers: { authorization } })
    await reached
    const stopped = stopping.gateway[Symbol.asyncDispose]()
    const ready = await fetch(`${stopping.opsUrl}/readyz`)
    release()
    const answer = await asked

    expect(ready.status).to.equal(503)
    expect(await answer.json()).to.deep.equal({ late: true })
    await stopped
    expect(await fetch(stopping.url).catch(() => 'refused')).to.equal('refused')
  })
})
