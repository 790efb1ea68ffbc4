import { expect } from 'chai'
import { endpoints, refusalsOf, type Endpoint } from '@gatehouse/contracts'
import { startHarness, type Harness } from './harness.ts'

describe('Local routes', () => {
  let harness: Harness
  before(async () => void (harness = await startHarness()))
  after(() => harness[Symbol.asyncDispose]())
  const get = (path: string, headers: Record<string, string> = {}) => fetch(harness.url + path, { headers })

  /** Contract: 1, CORS. */
  describe('CORS: Contract 1', () => {
    const origin = 'https://elsewhere.example'

    it('answers preflights for every origin, cached for a day', async () => {
      const headers = {
        origin,
        'access-control-request-method': 'PATCH',
        'access-control-request-headers': 'authorization',
      }
      const response = await fetch(`${harness.url}/api/users/@me`, { method: 'OPTIONS', headers })

      expect(response.status).to.equal(204)
      expect(response.headers.get('access-control-allow-origin')).to.equal('*')
      for (const method of ['PATCH', 'PUT']) {
        expect(response.headers.get('access-control-allow-methods')).to.include(method)
      }
      expect(response.headers.get('access-control-allow-headers')).to.match(/Authorization.*Content-Type/)
      expect(response.headers.get('access-control-max-age')).to.equal('86400')
      expect(response.headers.has('access-control-allow-credentials')).to.equal(false)
      expect(harness.stub.seen).to.have.length(0)
    })

    it('exposes responses, refusals and limits to every origin', async () => {
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

  it('have a health check for GET and HEAD, and answer other methods with what is allowed', async () => {
    expect(await (await get('/api/health')).json()).to.deep.equal({ status: 'ok' })
    expect((await fetch(`${harness.url}/api/health`, { method: 'HEAD' })).status).to.equal(200)
    const wrong = await fetch(`${harness.url}/api/health`, { method: 'POST' })
    expect([wrong.status, wrong.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD, OPTIONS'])
  })

  it('tell browsers at which web origins passkeys work', async () => {
    const passkeyOrigins = ['https://www.home.example', `android:apk-key-hash:${'a'.repeat(43)}`]
    await using named = await startHarness({ config: { passkeyOrigins } })
    const origins = async ({ url }: { url: string }) => await (await fetch(`${url}/.well-known/webauthn`)).json()

    expect(await origins(harness)).to.deep.equal({ origins: ['https://home.example'] })
    expect(await origins(named)).to.deep.equal({ origins: ['https://home.example', 'https://www.home.example'] })
  })

  it('do not include those of the operator port', async () => {
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      expect((await get(path)).status).to.equal(404)
      expect((await fetch(harness.opsUrl + path)).status).to.equal(200)
      const wrong = await fetch(harness.opsUrl + path, { method: 'POST' })
      expect([wrong.status, wrong.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD'])
    }
    const unknown = await fetch(`${harness.opsUrl}/nothing`)
    expect([unknown.status, await unknown.json()]).to.deep.equal([
      404,
      { statusCode: 404, error: 'Not found', code: 'not_found' },
    ])
  })

  /** Contract: 8, Public routes of the gateway. */
  it('describe every endpoint in OpenAPI 3.1, with its body, refusals and limits', async () => {
    const response = await get('/api/openapi.json')
    type Refused = { $ref?: string; oneOf?: Refused[]; properties?: { code?: Code } }
    type Code = { const?: string; anyOf?: Code[] }
    type Responses = Record<string, { content: { 'application/json': { schema: Refused } } }>
    const document = (await response.json()) as {
      openapi: string
      paths: Record<string, Record<string, { requestBody?: unknown; responses: Responses; security?: unknown }>>
      components: { schemas: Record<string, Refused> }
    }

    const codesIn = ({ $ref, oneOf, properties }: Refused): (string | undefined)[] => {
      if (oneOf) return oneOf.flatMap(codesIn)
      if ($ref) return codesIn(document.components.schemas[$ref.replace('#/components/schemas/', '')]!)
      return [properties!.code?.const ?? properties!.code?.anyOf?.[0]?.const]
    }
    expect(document.openapi).to.equal('3.1.0')
    for (const endpoint of Object.values(endpoints as Record<string, Endpoint>)) {
      const { method, path, body, limit, access } = endpoint
      const operation = document.paths[path.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]
      expect(operation, `${method} ${path}`).to.not.equal(undefined)
      expect(Boolean(operation!.requestBody)).to.equal(Boolean(body))
      const refused = Object.entries(operation!.responses).filter(([status]) => Number(status) >= 400)
      // Contract 1 gives the body of rate_limited no code.
      const codes = refused.flatMap(([, { content }]) =>
        codesIn(content['application/json'].schema).map((code) => code ?? 'rate_limited'),
      )
      expect(codes).to.have.members([...refusalsOf(endpoint)])
      if (limit) expect(codes).to.include('rate_limited')
      expect(Boolean(operation!.security)).to.equal(access !== 'anyone')
    }
    const again = await get('/api/openapi.json', { 'if-none-match': response.headers.get('etag')! })
    expect(again.status).to.equal(304)
  })

  it('include that description as a page that loads nothing and runs its own script only', async () => {
    const response = await get('/api/docs')
    const text = await response.text()

    expect(response.headers.get('content-type')).to.equal('text/html; charset=utf-8')
    expect(response.headers.get('content-security-policy')).to.match(
      /^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; connect-src 'self'; /,
    )
    expect(text)
      .to.include('/api/auth/register')
      .and.to.not.match(/<script[^>]|src=|@import/)
  })
})
