import { expect } from 'chai'
import { createRemoteJWKSet, customFetch as jwksFetch, jwtVerify, UnsecuredJWT } from 'jose'
import * as oidc from 'openid-client'
import {
  logIn,
  offline,
  openBrowser,
  origin,
  redirectUri,
  request,
  secret,
  startHarness,
  type Harness,
} from './harness.ts'

type Person = Awaited<ReturnType<Harness['insertPerson']>>

/**
 * The modules of the OpenID Foundation's oidcc-basic-certification-test-plan, by name. Each request has PKCE (RFC 9700, 2.1.1), which
 * most modules of the plan leave out. OpenID Connect Core 1.0; Contract: 3, Applications.
 */
describe('Basic OP', () => {
  let harness: Harness
  let person: Person
  let application: Awaited<ReturnType<Harness['insertApplication']>>
  let config: oidc.Configuration
  before(async () => {
    harness = await startHarness()
    person = await harness.insertPerson({ username: 'ada', displayName: 'Ada', avatar: 'ada.webp' })
    application = await harness.insertApplication()
    config = await harness.configure(application)
  })
  after(() => harness[Symbol.asyncDispose]())

  const userInfo = async (init: RequestInit) => {
    const response = await harness.reach(`${origin}/oauth2/userinfo`, init)
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  const nowSeconds = () => Math.floor(Date.now() / 1_000)
  /** Where a request leads that asks nobody. */
  const leadsTo = async (change: (parameters: URLSearchParams) => void) => {
    const { url } = await request(config)
    change(url.searchParams)
    return (await openBrowser(harness).visit(url.href)).headers.get('location') ?? ''
  }
  const errorAt = (location: string) => new URL(location).searchParams.get('error')

  it('oidcc-discovery-endpoint-verification, oidcc-idtoken-unsigned: says what there is, and no more', async () => {
    const { authorization_endpoint: authorization, ...metadata } = config.serverMetadata()
    const endpoints = Object.entries(metadata).filter(([name]) => /_(endpoint|uri)$/.test(name))
    expect(authorization).to.equal(`${origin}/oauth2/auth`)
    expect(endpoints.length).to.be.greaterThan(6)
    for (const [name, url] of endpoints) expect(url, name).to.match(/^https:\/\/chat\.example\/oauth2\/\w/)
    expect(metadata).to.deep.include({
      response_types_supported: ['code'],
      scopes_supported: ['openid', 'profile', 'offline_access'],
      claims_supported: ['sub', 'name', 'preferred_username', 'picture', 'updated_at', 'sid', 'auth_time', 'iss'],
      id_token_signing_alg_values_supported: ['RS256', 'EdDSA'],
      claims_parameter_supported: false,
      request_uri_parameter_supported: false,
    })
    expect(metadata.subject_types_supported).to.include('public')
    expect(metadata).to.not.have.property('request_parameter_supported')
    expect(metadata.grant_types_supported).to.include.members(['authorization_code', 'refresh_token'])
  })

  it('oidcc-server, oidcc-idtoken-signature, oidcc-ensure-request-with-valid-pkce-succeeds: gives an ID token', async () => {
    const { tokens, back, checks } = await logIn(harness, application, person)
    expect(back.searchParams.get('state')).to.equal(checks.expectedState)
    const keys = createRemoteJWKSet(new URL(`${origin}/oauth2/jwks`), {
      [jwksFetch]: (url: string, init: RequestInit) => harness.reach(url, init),
    })
    const expected = { issuer: origin, audience: application.id, subject: person.id, algorithms: ['RS256'] }
    const { payload, protectedHeader } = await jwtVerify(tokens.id_token!, keys, expected)
    expect(protectedHeader.kid).to.be.a('string')
    expect(payload).to.include({ aud: application.id, nonce: checks.expectedNonce })
    expect(payload.exp! - payload.iat!).to.equal(3_600)
    expect(payload.iat).to.be.closeTo(nowSeconds(), 10)
  })

  it('oidcc-response-type-missing: tells the application so', async () => {
    const location = await leadsTo((parameters) => parameters.delete('response_type'))
    expect([location.split('?')[0], errorAt(location)]).to.deep.equal([redirectUri, 'invalid_request'])
  })

  const waysToAsk: [module: string, ask: (token: string) => RequestInit][] = [
    ['oidcc-userinfo-get', (token) => ({ headers: bearer(token) })],
    ['oidcc-userinfo-post-header', (token) => ({ method: 'POST', headers: bearer(token) })],
    ['oidcc-userinfo-post-body', (token) => ({ method: 'POST', body: new URLSearchParams({ access_token: token }) })],
  ]
  for (const [module, ask] of waysToAsk) {
    it(`${module}: gives the person's claims`, async () => {
      const { tokens } = await logIn(harness, application, person, { scope: 'openid' })
      expect(await userInfo(ask(tokens.access_token))).to.deep.equal({ status: 200, body: { sub: person.id } })
      expect((await userInfo(ask('x'.repeat(43)))).status).to.equal(401)
    })
  }

  it('oidcc-ensure-request-without-nonce-succeeds-for-code-flow', async () => {
    const { url, checks } = await request(config)
    url.searchParams.delete('nonce')
    const back = await openBrowser(harness).allow(url, person)
    const { expectedNonce: _none, ...others } = checks
    expect((await oidc.authorizationCodeGrant(config, back, others)).claims()).to.not.have.property('nonce')
  })

  it('oidcc-scope-profile: gives name, username, picture and when they changed, and nothing else', async () => {
    const { tokens } = await logIn(harness, application, person)
    const claims = await oidc.fetchUserInfo(config, tokens.access_token, person.id)
    const { updated_at: updatedAt, ...others } = claims
    const picture = `${origin}/api/uploads/ada.webp`
    expect(others).to.deep.equal({ sub: person.id, name: 'Ada', preferred_username: 'ada', picture })
    expect(updatedAt).to.be.a('number')
  })

  for (const [module, scope] of [
    ['oidcc-scope-email', 'openid email'],
    ['oidcc-scope-address', 'openid address'],
    ['oidcc-scope-phone', 'openid phone'],
    ['oidcc-scope-all', 'openid email address phone'],
  ] as const) {
    it(`${module}: a scope that is not supported is ignored, and the person is not asked for it`, async () => {
      const { url, checks } = await request(config, { scope })
      const browser = openBrowser(harness)
      const uid = await browser.ask(url)
      expect((await browser.read(uid, person)).body).to.deep.include({ scopes: ['openid'] })
      const tokens = await oidc.authorizationCodeGrant(config, await browser.finish(uid, person), checks)
      expect(tokens.scope).to.equal('openid')
      expect(await oidc.fetchUserInfo(config, tokens.access_token, person.id)).to.deep.equal({ sub: person.id })
    })
  }

  it('oidcc-alternate-happy-flow: neither scopes nor parameters have an order', async () => {
    const { url, checks } = await request(config, { scope: 'profile openid' })
    const reversed = new URLSearchParams([...url.searchParams].toReversed())
    const back = await openBrowser(harness).allow(new URL(`${url.origin}${url.pathname}?${reversed}`), person)
    const tokens = await oidc.authorizationCodeGrant(config, back, checks)
    expect(tokens.scope?.split(' ')).to.have.members(['openid', 'profile'])
  })

  const harmless: [module: string, parameters: Record<string, string>][] = [
    ['oidcc-display-page', { display: 'page' }],
    ['oidcc-display-popup', { display: 'popup' }],
    ['oidcc-ensure-request-with-unknown-parameter-succeeds', { extra: 'foobar' }],
    ['oidcc-login-hint', { login_hint: 'buffy@chat.example' }],
    ['oidcc-ui-locales', { ui_locales: 'se' }],
    ['oidcc-claims-locales', { claims_locales: 'se' }],
    ['oidcc-ensure-request-with-acr-values-succeeds', { acr_values: '1 2' }],
    ['oidcc-claims-essential', { claims: '{"userinfo":{"name":{"essential":true}}}' }],
  ]
  for (const [module, parameters] of harmless) {
    it(`${module}: succeeds, and gives no more than without`, async () => {
      const { tokens } = await logIn(harness, application, person, { scope: 'openid', parameters })
      const { acr, ...claims } = tokens.claims()!
      expect([acr, claims.sub]).to.deep.equal([undefined, person.id])
      expect(await oidc.fetchUserInfo(config, tokens.access_token, person.id)).to.deep.equal({ sub: person.id })
    })
  }

  for (const [module, parameters] of [
    ['oidcc-prompt-login', { prompt: 'login' }],
    ['oidcc-max-age-1', { max_age: '1' }],
    ['max_age=0', { max_age: '0' }],
  ] as [string, Record<string, string>][]) {
    it(`${module}: demands a log-in after the request, and tells its time`, async () => {
      const someone = await harness.insertPerson()
      const now = nowSeconds()
      const old = await harness.insertLogin(someone, now - 60)
      const browser = openBrowser(harness)
      const { url, checks } = await request(config, { parameters })
      const uid = await browser.ask(url)
      expect((await browser.read(uid, old)).body).to.include({ prompt: 'login' })
      expect((await browser.decide(uid, old)).body).to.include({ code: 'fresh_login_required' })
      // A token that was renewed is no log-in.
      const renewed = await browser.decide(uid, { ...old, tokenIssuedAt: now + 30 })
      expect(renewed.body).to.include({ code: 'fresh_login_required' })
      const fresh = await harness.insertLogin(someone, now + 30)
      expect((await browser.read(uid, fresh)).body).to.include({ prompt: 'consent' })
      const back = await browser.finish(uid, fresh)
      const maxAge = parameters['max_age'] === undefined ? {} : { maxAge: Number(parameters['max_age']) }
      const tokens = await oidc.authorizationCodeGrant(config, back, { ...checks, ...maxAge })
      expect(tokens.claims()?.auth_time).to.equal(now + 30)
    })
  }

  it('oidcc-max-age-10000: demands no second log-in, and tells the time of the first', async () => {
    const now = nowSeconds()
    const session = await harness.insertLogin(await harness.insertPerson(), now - 60)
    for (const max_age of ['15000', '10000']) {
      const { url, checks } = await request(config, { parameters: { max_age } })
      const browser = openBrowser(harness)
      const uid = await browser.ask(url)
      expect((await browser.read(uid, session)).body, max_age).to.include({ prompt: 'consent' })
      const expected = { ...checks, maxAge: Number(max_age) }
      const tokens = await oidc.authorizationCodeGrant(config, await browser.finish(uid, session), expected)
      expect(tokens.claims(), max_age).to.include({ sub: session.id, auth_time: now - 60 })
    }
  })

  describe('prompt=none says nothing of who is there', () => {
    const silently = async (browser: ReturnType<typeof openBrowser>, parameters = {}) => {
      const { url } = await request(config, { parameters: { prompt: 'none', ...parameters } })
      const location = (await browser.visit(url.href)).headers.get('location') ?? ''
      return [location.split('?')[0], errorAt(location)]
    }

    it('oidcc-prompt-none-not-logged-in: login_required', async () => {
      expect(await silently(openBrowser(harness))).to.deep.equal([redirectUri, 'login_required'])
    })

    it('oidcc-prompt-none-logged-in: login_required too, where the plan wants an answer: no cookie is left to tell', async () => {
      const browser = openBrowser(harness)
      await browser.allow((await request(config)).url, person)
      expect([...browser.jar.keys()].filter((name) => name.startsWith('gatehouse_openid'))).to.deep.equal([])
      expect(await silently(browser)).to.deep.equal([redirectUri, 'login_required'])
    })

    it('oidcc-id-token-hint: a hint of the person is accepted; with prompt=none login_required, where the plan wants an answer', async () => {
      const browser = openBrowser(harness)
      const first = await logIn(harness, application, person)
      const parameters = { id_token_hint: first.tokens.id_token! }
      const { url, checks } = await request(config, { parameters })
      const uid = await browser.ask(url)
      expect((await browser.read(uid, person)).body).to.include({ prompt: 'consent', isConsentNeeded: false })
      const tokens = await oidc.authorizationCodeGrant(config, await browser.finish(uid, person), checks)
      expect(tokens.claims()?.sub).to.equal(first.tokens.claims()?.sub)
      expect(await silently(browser, parameters)).to.deep.equal([redirectUri, 'login_required'])
    })
  })

  for (const [module, seconds] of [
    ['oidcc-codereuse', 0],
    ['oidcc-codereuse-30seconds', 30],
  ] as const) {
    it(`${module}: a code works once; used again, all it gave is dead. RFC 9700, 2.1.1, 4.5`, async () => {
      const { tokens, back, checks } = await logIn(harness, application, person)
      expect(await oidc.tokenIntrospection(config, tokens.access_token)).to.include({ active: true })
      await harness.orm.em.fork().execute(
        `update openid_rows set consumed_at = consumed_at - make_interval(secs => ?), payload = payload ||
           jsonb_build_object('iat', (payload->>'iat')::bigint - ?, 'exp', (payload->>'exp')::bigint - ?)
         where model = 'AuthorizationCode' and account_id = ?`,
        [seconds, seconds, seconds, person.id],
      )
      const again = await oidc.authorizationCodeGrant(config, back, checks).catch((error: unknown) => error)
      expect(again).to.be.instanceOf(oidc.ResponseBodyError).with.property('error', 'invalid_grant')
      expect(await oidc.tokenIntrospection(config, tokens.access_token)).to.deep.equal({ active: false })
    })
  }

  it('oidcc-ensure-registered-redirect-uri: another address gets no answer, the person a page', async () => {
    const location = await leadsTo((parameters) => parameters.set('redirect_uri', 'https://evil.example/callback'))
    expect(location).to.equal('/authorize#error=invalid_redirect_uri')
  })

  it('oidcc-ensure-post-request-succeeds: a form that is posted is a request, and a wrong one is told on a page', async () => {
    const { url, checks } = await request(config)
    const browser = openBrowser(harness)
    const asked = await browser.post(`${origin}/oauth2/auth`, url.searchParams)
    const back = await browser.finish(await browser.arrive(asked), person)
    expect((await oidc.authorizationCodeGrant(config, back, checks)).claims()?.sub).to.equal(person.id)
    url.searchParams.set('redirect_uri', 'https://wiki.example/other')
    const refused = await browser.post(`${origin}/oauth2/auth`, url.searchParams)
    expect([refused.status, refused.headers.get('location')]).to.deep.equal([
      303,
      '/authorize#error=invalid_redirect_uri',
    ])
  })

  it('oidcc-server-client-secret-post: the secret may come in the form', async () => {
    const { url, checks } = await request(config)
    const back = await openBrowser(harness).allow(url, person)
    const exchange = async (given: string) => {
      const posting = await harness.configure(application, 0, oidc.ClientSecretPost(given))
      return await oidc.authorizationCodeGrant(posting, back, checks).catch((error: oidc.ResponseBodyError) => error)
    }
    expect(await exchange('wrong')).to.include({ error: 'invalid_client' })
    expect(await exchange(secret)).to.have.property('id_token')
  })

  describe('Request objects are not supported, and never ignored. OpenID Connect Core, 3.1.2.6, 6', () => {
    const requestObject = (uri: string) =>
      new UnsecuredJWT({
        client_id: application.id,
        redirect_uri: uri,
        response_type: 'code',
        scope: 'openid',
      }).encode()
    const refusal = (name: string, value: string) => leadsTo((parameters) => parameters.set(name, value))

    it('oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported', async () => {
      const location = await refusal('request', requestObject(redirectUri))
      expect([location.split('?')[0], errorAt(location)]).to.deep.equal([redirectUri, 'request_not_supported'])
    })

    it('oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported', async () => {
      const location = await refusal('request_uri', 'https://wiki.example/request.jwt')
      expect([location.split('?')[0], errorAt(location)]).to.deep.equal([redirectUri, 'request_uri_not_supported'])
    })

    it('oidcc-ensure-request-object-with-redirect-uri: what it names is not where the answer goes', async () => {
      const location = await leadsTo((parameters) => {
        parameters.set('request', requestObject(redirectUri))
        parameters.set('redirect_uri', 'https://wiki.example/none')
      })
      expect(location).to.equal('/authorize#error=invalid_redirect_uri')
      const inside = await refusal('request', requestObject('https://evil.example/'))
      expect(inside.split('?')[0]).to.equal(redirectUri)
    })
  })

  it('oidcc-refresh-token: a refresh gives an ID token of the same person, log-in and application', async () => {
    const parameters = { ...offline.parameters, max_age: '10000' }
    const session = await harness.insertLogin(person, nowSeconds() - 60)
    const { tokens } = await logIn(harness, application, session, { ...offline, parameters })
    const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token!)
    const { iss, sub, aud, auth_time: authTime } = tokens.claims()!
    expect(authTime).to.be.a('number')
    expect(refreshed.claims()).to.include({ iss, sub, aud, auth_time: authTime })
    expect(await oidc.fetchUserInfo(config, refreshed.access_token, person.id)).to.include({ sub: person.id })
  })
})
