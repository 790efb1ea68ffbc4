import { protocolRoutes, type ProtocolRoute } from '@gatehouse/contracts'
import { expect } from 'chai'
import { startHarness, type Harness } from './harness.ts'

/** Contract: 3, Applications. */
describe('The routes of OpenID Connect', () => {
  let harness: Harness
  beforeEach(async () => void (harness = await startHarness()))
  afterEach(() => harness[Symbol.asyncDispose]())

  const headers = { cookie: 'gatehouse_asked=1', authorization: `Basic ${Buffer.from('1:secret').toString('base64')}` }
  const routes = Object.entries<ProtocolRoute>(protocolRoutes)

  for (const [name, { path, methods, readsCookies = false }] of routes) {
    it(`${name}: ${methods.join(', ')} ${path} reach the service with Authorization${readsCookies ? ' and cookies' : ''}, and name an address alone`, async () => {
      for (const method of methods) {
        const response = await fetch(harness.url + path.replace(':uid', 'uid'), { method, headers, redirect: 'manual' })
        expect(response.status).to.be.lessThan(500)
        const received = harness.stub.seen.at(-1)!
        expect(received.method).to.equal(method)
        expect(received.headers.authorization).to.equal(headers.authorization)
        expect(received.headers.cookie).to.equal(readsCookies ? headers.cookie : undefined)
        expect(harness.callerIn(received.headers)).to.deep.include({ account: null })
        expect(response.headers.get('access-control-allow-origin')).to.equal(null)
        expect(response.headers.get('x-frame-options')).to.equal('DENY')
        expect(response.headers.get('content-security-policy')).to.include("frame-ancestors 'none'")
      }
    })
  }

  it('are no other paths: those are 404 as JSON, also for a browser, and other methods 405', async () => {
    for (const path of ['/oauth2', '/oauth2/', '/oauth2/session', '/oauth2/end-session/confirm']) {
      const response = await fetch(harness.url + path, { headers: { accept: 'text/html' } })
      expect([response.status, ((await response.json()) as { code: string }).code], path).to.deep.equal([
        404,
        'not_found',
      ])
    }
    const response = await fetch(`${harness.url}/oauth2/token`)
    expect([response.status, response.headers.get('allow')]).to.deep.equal([405, 'POST, OPTIONS'])
  })

  it('a HEAD reaches no service where a GET uses something up', async () => {
    const head = async (path: string) => {
      const { status, headers } = await fetch(harness.url + path, { method: 'HEAD', redirect: 'manual' })
      return [status, headers.get('allow')]
    }
    const callback = { path: '/api/auth/providers/own/callback', methods: ['GET'] }
    const using = routes.flatMap(([, route]) => (route.readsCookies ? [route] : []))
    for (const { path, methods } of [...using, callback])
      expect(await head(path.replace(':uid', 'uid')), path).to.deep.equal([405, [...methods, 'OPTIONS'].join(', ')])
    expect(harness.stub.seen).to.deep.equal([])
    expect((await head('/oauth2/jwks'))[0]).to.be.lessThan(405)
    expect(harness.stub.seen.at(-1)?.method).to.equal('HEAD')
  })

  it('the log does not hold their queries', async () => {
    await fetch(`${harness.url}/oauth2/auth?code=a-code-that-is-secret&state=a-state`, { redirect: 'manual' })
    await fetch(`${harness.url}/oauth2/end-session?id_token_hint=a-token-that-is-secret`, { redirect: 'manual' })
    expect(harness.lines.map(({ route }) => route)).to.include.members(['GET /oauth2/auth', 'GET /oauth2/end-session'])
    expect(JSON.stringify(harness.lines)).to.not.match(/a-code|a-state|a-token/)
  })
})
