import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { startHarness, type Harness } from './harness.ts'
import { sendRaw } from './raw-client.ts'

const page = `<!doctype html><title>Gatehouse</title>${'<p>hello</p>'.repeat(200)}`
const html = { accept: 'text/html,*/*' }

describe('The web app', () => {
  let harness: Harness
  let folder: string
  const write = (name: string, content: string | Buffer) => writeFile(join(folder, 'web', name), content)
  /** A file as the build writes it, with its compressed forms. */
  const build = async (name: string, content: string): Promise<void> => {
    await write(name, content)
    await write(`${name}.br`, brotliCompressSync(content))
    await write(`${name}.gz`, gzipSync(content))
  }
  const get = (path: string, headers: Record<string, string> = {}) => fetch(harness.url + path, { headers })

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-web-app-'))
    await mkdir(join(folder, 'web', 'assets'), { recursive: true })
    await build('index.html', page)
    await build('assets/app-abc123.js', 'x'.repeat(5_000))
    await write('favicon.svg', '<svg/>')
    await mkdir(join(folder, 'web', '.well-known'))
    await write('.well-known/security.txt', 'Contact: mailto:admin@home.example')
    await writeFile(join(folder, 'outside.txt'), 'secret')
    harness = await startHarness({ config: { webRoot: join(folder, 'web') } })
  })
  after(async () => {
    await harness[Symbol.asyncDispose]()
    await rm(folder, { recursive: true })
  })

  it('is index.html at every path that a browser navigates to, revalidated each time', async () => {
    for (const path of ['/', '/login', '/channels/@me', '/admin/users?x=1']) {
      const response = await get(path, html)
      expect(response.status).to.equal(200)
      expect(response.headers.get('cache-control')).to.equal('no-cache')
      expect(response.headers.get('content-type')).to.equal('text/html; charset=utf-8')
      expect(response.headers.get('content-security-policy')).to.include("default-src 'self'")
      expect(response.headers.get('strict-transport-security')).to.match(/max-age=/)
      expect(response.headers.get('x-request-id')).to.match(/^[0-9a-f-]{36}$/)
      expect(await response.text()).to.equal(page)
    }
  })

  it('has assets that are cached without revalidation, because they are named by their content', async () => {
    const asset = await get('/assets/app-abc123.js')
    const icon = await get('/favicon.svg')

    expect(asset.headers.get('cache-control')).to.equal('public, max-age=31536000, immutable')
    expect(asset.headers.get('content-type')).to.equal('text/javascript; charset=utf-8')
    expect(icon.headers.get('cache-control')).to.equal('no-cache')
    expect(icon.headers.get('content-type')).to.equal('image/svg+xml')
    expect(await icon.text()).to.equal('<svg/>')
    expect((await get('/.well-known/security.txt')).headers.get('content-type')).to.equal('text/plain; charset=utf-8')
  })

  for (const [path, content] of [
    ['/', page],
    ['/assets/app-abc123.js', 'x'.repeat(5_000)],
  ] as const) {
    it(`is sent compressed, and not again when the browser has it: ${path}`, async () => {
      const etags = new Set<string>()
      for (const encoding of ['br', 'gzip', 'identity']) {
        const response = await get(path, { 'accept-encoding': encoding })
        const etag = response.headers.get('etag')!
        etags.add(etag)
        expect(response.headers.get('content-encoding')).to.equal(encoding === 'identity' ? null : encoding)
        expect(response.headers.get('vary')).to.equal('Accept-Encoding')
        expect(await response.text()).to.equal(content)
        for (const condition of [etag, `W/${etag}`, `"other", ${etag}`]) {
          const again = await get(path, { 'accept-encoding': encoding, 'if-none-match': condition })
          expect([again.status, await again.text(), again.headers.get('etag')]).to.deep.equal([304, '', etag])
          expect(again.headers.get('cache-control')).to.equal(response.headers.get('cache-control'))
        }
        const other = await get(path, { 'accept-encoding': encoding, 'if-none-match': '"other"' })
        expect([other.status, await other.text()]).to.deep.equal([200, content])
      }
      expect(etags.size).to.equal(3)
    })
  }

  it('is sent uncompressed where the build has no compressed form, or the client accepts none', async () => {
    const icon = await get('/favicon.svg', { 'accept-encoding': 'br, gzip' })
    const refused = await get('/', { 'accept-encoding': 'br;q=0, gzip;q=0' })

    expect(icon.headers.has('content-encoding')).to.equal(false)
    expect(refused.headers.has('content-encoding')).to.equal(false)
  })

  it('has a new ETag when its content changes, also with the same size and modification time', async () => {
    const etagOf = async (content: string): Promise<string | null> => {
      await write('notes.txt', content)
      await utimes(join(folder, 'web', 'notes.txt'), 1, 1)
      return (await get('/notes.txt')).headers.get('etag')
    }

    const first = await etagOf('first')

    expect(await etagOf('other')).not.to.equal(first)
    expect(await etagOf('first')).to.equal(first)
  })

  it('answers HEAD with the headers of GET', async () => {
    for (const path of ['/', '/assets/app-abc123.js']) {
      const [got, head] = [await get(path), await fetch(harness.url + path, { method: 'HEAD' })]
      expect(head.status).to.equal(200)
      expect(await head.text()).to.equal('')
      for (const name of ['content-length', 'content-type', 'etag', 'cache-control', 'vary']) {
        expect(head.headers.get(name)).to.equal(got.headers.get(name))
      }
    }
  })

  it('does not stand for missing files, API paths or files outside its folder', async () => {
    expect((await get('/assets/gone.js', html)).status).to.equal(404)
    expect((await get('/assets', html)).status).to.equal(200)
    expect((await get('/assets')).status).to.equal(404)
    expect((await get('/gone.png')).status).to.equal(404)
    expect((await get('/api/gone', html)).status).to.equal(404)
    for (const path of ['/../outside.txt', '/assets/../../outside.txt', '/%2e%2e/outside.txt']) {
      const answer = await sendRaw(harness.port, `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
      expect(answer).to.match(/^HTTP\/1.1 40[04] /)
      expect(answer).to.not.include('secret')
    }
  })

  it('refuses other methods in JSON, with what is allowed', async () => {
    for (const path of ['/login', '/assets/app-abc123.js']) {
      const response = await fetch(harness.url + path, { method: 'POST', headers: html })
      expect([response.status, response.statusText]).to.deep.equal([405, 'Method Not Allowed'])
      expect(response.headers.get('allow')).to.equal('GET, HEAD')
      expect(await response.json()).to.deep.equal({
        error: 'Method not allowed',
        statusCode: 405,
        code: 'method_not_allowed',
      })
      expect(response.headers.has('etag')).to.equal(false)
    }
  })

  it('that has not been built is said to be so', async () => {
    await using bare = await startHarness()
    const response = await fetch(`${bare.url}/login`, { headers: html })

    expect(response.status).to.equal(503)
    expect(response.headers.get('cache-control')).to.equal('no-store')
    expect(await response.text()).to.include('has not been built')
  })
})
