import { expect } from 'chai'
import * as oidc from 'openid-client'
import { policy } from '../src/policy.ts'
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

const basic = (id: string, given = secret) => `Basic ${Buffer.from(`${id}:${given}`).toString('base64')}`

/** The list of RFC 9700, by its sections, but what basic-op.test.ts has; and what else hostile applications and people try. Contract: 3, Applications. */
describe('RFC 9700', () => {
  let harness: Harness
  let application: Awaited<ReturnType<Harness['insertApplication']>>
  let config: oidc.Configuration
  before(async () => {
    harness = await startHarness()
    application = await harness.insertApplication({ deviceGrant: true })
    config = await harness.configure(application)
  })
  after(() => harness[Symbol.asyncDispose]())

  /** Where a request that is refused leads. */
  const refusedAt = async (change: (parameters: URLSearchParams) => void) => {
    const { url } = await request(config)
    change(url.searchParams)
    const response = await openBrowser(harness).visit(url.href)
    const { status, headers } = response
    return { status, location: headers.get('location') ?? '' }
  }
  const token = async (form: Record<string, string>, authorization = basic(application.id)) => {
    const body = new URLSearchParams(form)
    const response = await harness.reach(`${origin}/oauth2/token`, { method: 'POST', body, headers: { authorization } })
    return { status: response.status, body: (await response.json()) as { error?: string; access_token?: string } }
  }
  const codeFor = async (parameters: Record<string, string> = {}) => {
    const { url, checks } = await request(config, { parameters })
    const back = await openBrowser(harness).allow(url, await harness.insertPerson())
    const form = { grant_type: 'authorization_code', code: back.searchParams.get('code')!, redirect_uri: redirectUri }
    return { form, verifier: checks.pkceCodeVerifier, back }
  }

  describe('2.1, 4.1: redirect URIs are compared exactly; nothing redirects elsewhere', () => {
    for (const uri of [
      'https://wiki.example/callback/',
      'https://wiki.example/callback?x=1',
      'https://wiki.example/Callback',
      'http://wiki.example/callback',
      'https://wiki.example/callback#x',
      'https://wiki.example@evil.example/callback',
      'https://wiki.example/callback/../other',
      'javascript:alert(1)',
      '//evil.example',
      '',
      'https://wiki.example/%63allback',
    ]) {
      it(`refuses ${uri || 'none'}`, async () => {
        const { location } = await refusedAt((parameters) => parameters.set('redirect_uri', uri))
        expect(location).to.match(/^\/authorize#error=invalid_re(direct_uri|quest)$/)
      })
    }

    it('takes any port of an application on the own computer, and of no other. RFC 8252, 7.3', async () => {
      const redirectUris = ['http://127.0.0.1/a', 'http://[::1]:1/a', 'http://localhost:1/a']
      const native = await harness.insertApplication({ type: 'public', redirectUris })
      const server = await harness.insertApplication({ redirectUris })
      const isTaken = async (one: typeof native, redirect: string) => {
        const { url } = await request(await harness.configure(one), { redirect })
        const { headers } = await openBrowser(harness).visit(url.href)
        return (headers.get('location') ?? '').startsWith('/oauth2/interaction/')
      }
      for (const redirect of redirectUris) {
        const other = redirect.replace(/(:1)?\/a$/, ':50123/a')
        expect([await isTaken(native, redirect), await isTaken(server, redirect)], redirect).to.deep.equal([true, true])
        expect([await isTaken(native, other), await isTaken(server, other)], other).to.deep.equal([true, false])
        expect(await isTaken(native, `${other}b`), 'another path').to.equal(false)
      }
    })

    it('refuses a request without one, and one that names it twice', async () => {
      expect((await refusedAt((parameters) => parameters.delete('redirect_uri'))).location).to.match(
        /^\/authorize#error=/,
      )
      const twice = await refusedAt((parameters) => parameters.append('redirect_uri', 'https://evil.example/'))
      expect(twice.location).to.match(/^\/authorize#error=/)
    })

    it('after the end of a session too', async () => {
      const { tokens } = await logIn(harness, application, await harness.insertPerson())
      const asked = `${origin}/oauth2/end-session?id_token_hint=${tokens.id_token}&post_logout_redirect_uri=https://evil.example/`
      const ended = await openBrowser(harness).visit(asked)
      expect(ended.headers.get('location')).to.match(/^\/authorize#error=/)
      const unknown = await openBrowser(harness).visit(
        `${origin}/oauth2/end-session?post_logout_redirect_uri=https://evil.example/`,
      )
      expect(unknown.headers.get('location')).to.equal(`${origin}/authorize#logout=done`)
    })
  })

  describe('2.1.1, 4.5, 4.8: PKCE, and no way around it', () => {
    it('refuses a request without a challenge, or with a plain one', async () => {
      const without = await refusedAt((parameters) => {
        parameters.delete('code_challenge')
        parameters.delete('code_challenge_method')
      })
      expect(without.location).to.match(/^https:\/\/wiki\.example\/callback\?error=invalid_request/)
      const plain = await refusedAt((parameters) => parameters.set('code_challenge_method', 'plain'))
      expect(plain.location).to.match(/error=invalid_request/)
    })

    it('refuses a code without the verifier, or with another: an injected code is worth nothing', async () => {
      const { form, verifier } = await codeFor()
      expect((await token(form)).body.error).to.equal('invalid_grant')
      expect((await token({ ...form, code_verifier: 'x'.repeat(43) })).body.error).to.equal('invalid_grant')
      expect((await token({ ...form, code_verifier: verifier })).status).to.equal(200)
    })

    it('refuses a code of another application, and at another redirect URI', async () => {
      const { form, verifier } = await codeFor()
      const other = await harness.insertApplication()
      expect((await token({ ...form, code_verifier: verifier }, basic(other.id))).body.error).to.equal('invalid_grant')
      const elsewhere = { ...form, code_verifier: verifier, redirect_uri: 'https://evil.example/' }
      expect((await token(elsewhere)).body.error).to.equal('invalid_grant')
    })
  })

  it('2.1.2, 2.4: no token comes through the browser, and no password to an application', async () => {
    for (const type of ['token', 'id_token', 'code id_token', 'none']) {
      expect((await refusedAt((parameters) => parameters.set('response_type', type))).location, type).to.match(
        /error=unsupported_response_type/,
      )
    }
    for (const type of ['password', 'client_credentials', 'urn:ietf:params:oauth:grant-type:jwt-bearer']) {
      expect((await token({ grant_type: type, username: 'ada', password: 'x' })).body.error, type).to.equal(
        'unsupported_grant_type',
      )
    }
  })

  it('4.4: mix-up: each answer says whose it is, also an error', async () => {
    const { back } = await codeFor()
    expect(back.searchParams.get('iss')).to.equal(origin)
    const refused = await refusedAt((parameters) => parameters.set('scope', 'openid nothing:like*this"'))
    expect(new URL(refused.location).searchParams.get('iss') ?? origin).to.equal(origin)
    expect(config.serverMetadata()).to.include({ issuer: origin, authorization_response_iss_parameter_supported: true })
  })

  it('4.3: no token is accepted in a query', async () => {
    const { tokens } = await logIn(harness, application, await harness.insertPerson())
    const response = await harness.reach(`${origin}/oauth2/userinfo?access_token=${tokens.access_token}`)
    expect(response.status).to.equal(400)
  })

  it('4.7: a request belongs to the browser in which it began', async () => {
    const [mine, others] = [openBrowser(harness), openBrowser(harness)]
    const person = await harness.insertPerson()
    const uid = await mine.ask((await request(config)).url)
    const other = await others.ask((await request(config)).url)
    for (const { status, body } of [
      await others.read(uid, person),
      await others.decide(uid, person),
      await mine.read(other, person),
      await mine.read('x'.repeat(43), person),
    ]) {
      expect([status, body['code']]).to.deep.equal([404, 'interaction_unknown'])
    }
    const { body } = await mine.decide(uid, person)
    const stolen = await others.visit(body.url)
    expect(stolen.headers.get('location')).to.match(/^\/authorize#error=invalid_request/)
    const back = await mine.visit(body.url)
    expect(back.headers.get('location')).to.match(/^https:\/\/wiki\.example\/callback\?code=/)
    expect((await mine.decide(uid, person)).body).to.include({ code: 'interaction_unknown' })
    const twice = await mine.visit(body.url)
    expect(twice.headers.get('location')).to.match(/^\/authorize#error=/)
  })

  it('4.12: redirects with 303, so that no body is sent on', async () => {
    expect((await openBrowser(harness).visit((await request(config)).url.href)).status).to.equal(303)
  })

  it('4.14: refresh tokens rotate, and are of their application', async () => {
    const { tokens } = await logIn(harness, application, await harness.insertPerson(), offline)
    const other = await harness.insertApplication()
    const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token! }
    expect((await token(form, basic(other.id))).body.error).to.equal('invalid_grant')
    expect((await token(form, basic(application.id, 'wrong'))).body.error).to.equal('invalid_client')
    const { body } = await token(form)
    expect((await token({ ...form, scope: 'openid profile email' })).body.error).to.match(/invalid_(scope|grant)/)
    expect(body).to.have.property('refresh_token').that.is.not.equal(tokens.refresh_token)
  })

  it('an ID token of another person as a hint ends in no answer for this one', async () => {
    const { tokens } = await logIn(harness, application, await harness.insertPerson())
    const { url } = await request(config, { parameters: { id_token_hint: tokens.id_token! } })
    const browser = openBrowser(harness)
    const uid = await browser.ask(url)
    const other = await harness.insertPerson()
    expect((await browser.read(uid, other)).body).to.include({ prompt: 'login' })
    expect((await browser.decide(uid, other)).body).to.include({ code: 'fresh_login_required' })
  })

  it('introspection and revocation are for applications that say who they are; a public one asks about its own', async () => {
    const { tokens } = await logIn(harness, application, await harness.insertPerson())
    const publicOne = await harness.configure(await harness.insertApplication({ type: 'public' }))
    expect(await oidc.tokenIntrospection(publicOne, tokens.access_token)).to.deep.equal({ active: false })
    const wrong = await harness.reach(`${origin}/oauth2/introspect`, {
      method: 'POST',
      body: new URLSearchParams({ token: tokens.access_token }),
      headers: { authorization: basic(application.id, 'wrong') },
    })
    expect(wrong.status).to.equal(401)
    await oidc.tokenRevocation(publicOne, tokens.access_token).catch(() => undefined)
    expect(await oidc.tokenIntrospection(config, tokens.access_token)).to.include({ active: true })
    await oidc.tokenRevocation(config, tokens.access_token)
    expect(await oidc.tokenIntrospection(config, tokens.access_token)).to.deep.equal({ active: false })
  })

  it('a request that is refused uses no refresh token up', async () => {
    const { tokens } = await logIn(harness, application, await harness.insertPerson(), offline)
    const refresh = (parameters = {}) =>
      token({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token!, ...parameters })
    const refused = await refresh({ resource: 'https://other.example' })
    expect([refused.status, refused.body.error]).to.deep.equal([400, 'invalid_target'])
    expect((await refresh()).status).to.equal(200)
    expect((await refresh()).status).to.equal(400)
  })

  it('codes of devices are guessed no oftener than passwords', async () => {
    const as = await harness.insertPerson()
    const guess = () => harness.calls('POST', '/oauth2/device-code', { as, body: { userCode: 'BCDF-GHJK' } })
    const { requests } = policy.deviceCodeAttempts
    for (let made = 0; made < requests; made += 1)
      expect((await guess()).body).to.include({ code: 'device_code_unknown' })
    expect((await guess()).status).to.equal(429)
    harness.clock.advance(policy.deviceCodeAttempts.windowMs)
    expect((await guess()).status).to.equal(404)
  })

  it('no hostile parameter is a 500, and no log names a code, a token or a secret', async () => {
    const hostile = [
      '',
      '\u0000',
      '%',
      '%00',
      '%ff',
      "' or 1=1 --",
      '../../etc',
      '[]',
      '{}',
      'a'.repeat(4_000),
      '1e400',
      '-1',
      '💣',
      '9'.repeat(40),
      '0',
      '00',
      '1.5',
      '<script>',
      'constructor',
      '__proto__',
      'null',
      '\r\nSet-Cookie: a=b',
    ]
    const names = [
      'client_id',
      'redirect_uri',
      'scope',
      'response_type',
      'state',
      'nonce',
      'prompt',
      'max_age',
      'login_hint',
      'id_token_hint',
      'code_challenge',
      'code_challenge_method',
      'response_mode',
      'request',
      'request_uri',
      'resource',
      'claims',
      'acr_values',
      'ui_locales',
      'registration',
      '__proto__',
    ]
    const posted = [
      ...(['grant_type', 'code', 'refresh_token', 'client_id', 'code_verifier'] as const).map(
        (name) => ['token', name] as const,
      ),
      ['introspect', 'token'] as const,
      ['introspect', 'token_type_hint'] as const,
      ['revoke', 'token'] as const,
      ['par', 'state'] as const,
      ['par', 'redirect_uri'] as const,
      ['device/auth', 'scope'] as const,
    ]
    const basicOf = { authorization: basic(application.id) }
    const asked = (value: string): Promise<[what: string, status: number]>[] => [
      ...names.map(async (name): Promise<[string, number]> => {
        return [`${name}=${value}`, (await refusedAt((parameters) => parameters.set(name, value))).status]
      }),
      ...posted.map(async ([path, name]): Promise<[string, number]> => {
        const body = new URLSearchParams({ grant_type: 'authorization_code', token: 'x', [name]: value })
        const response = await harness.reach(`${origin}/oauth2/${path}`, { method: 'POST', body, headers: basicOf })
        return [`${path} ${name}=${value}`, response.status]
      }),
      ...['end-session?id_token_hint=', 'auth/', 'userinfo?scope='].map(async (path): Promise<[string, number]> => {
        return [path + value, (await harness.reach(`${origin}/oauth2/${path}${encodeURIComponent(value)}`)).status]
      }),
    ]
    const answers: [string, number][] = []
    for (const value of hostile) answers.push(...(await Promise.all(asked(value))))
    expect(answers.filter(([, status]) => status >= 500)).to.deep.equal([])
    expect(answers.some(([, status]) => status === 303)).to.equal(true)
    const { form, verifier, back } = await codeFor()
    const { body } = await token({ ...form, code_verifier: verifier })
    const lines = JSON.stringify(harness.lines)
    for (const known of [secret, verifier, body.access_token!, back.searchParams.get('code')!, basic(application.id)]) {
      expect(lines).to.not.include(known)
    }
  })

  it('a consent page in a frame is none: the cookies of a request come with no request of another site', async () => {
    const { url } = await request(config)
    const response = await openBrowser(harness).visit(url.href)
    const cookies = response.headers.getSetCookie()
    expect(cookies.length).to.be.greaterThan(0)
    const form = /; path=\/oauth2\/(auth|interaction)\/[\w-]+;.* samesite=lax; secure; httponly$/
    for (const cookie of cookies) expect(cookie).to.match(form)
  })
})
