import { hashSecret } from '@gatehouse/auth'
import { Application, ApplicationConsent, InstanceSettings } from '@gatehouse/domain'
import { expect } from 'chai'
import { createRemoteJWKSet, customFetch as jwksFetch, jwtVerify } from 'jose'
import * as oidc from 'openid-client'
import { keyCacheMs, keyRetirementMs, rotateKeys } from '@gatehouse/openid-keys'
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

/** Contract: 3, Applications. */
describe('A log-in at an application', () => {
  let harness: Harness
  before(async () => void (harness = await startHarness()))
  after(() => harness[Symbol.asyncDispose]())

  /** In seconds. `renewalOf`: the login of the session that was renewed. */
  async function insertSignIn(userId: string, { at, renewalOf }: { at: number; renewalOf?: number | null }) {
    const sql = `insert into sign_ins (user_id, signed_in_at, method, network, logged_in_at)
      values (?, to_timestamp(?), ?, 'x', to_timestamp(?))`
    const method = renewalOf === undefined ? 'password' : 'renewal'
    await harness.orm.em.fork().execute(sql, [userId, at, method, renewalOf ?? null])
  }

  it('gives opaque tokens; the refresh token changes each time', async () => {
    const person = await harness.insertPerson()
    const application = await harness.insertApplication()
    const { config, tokens } = await logIn(harness, application, person, offline)

    expect(tokens.token_type).to.equal('bearer')
    expect(tokens.expires_in).to.equal(600)
    const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token!)
    expect(refreshed.refresh_token).to.not.equal(tokens.refresh_token)
    expect(await oidc.tokenIntrospection(config, refreshed.access_token)).to.include({ active: true, sub: person.id })
    const [consent] = await harness.orm.em.fork().find(ApplicationConsent, { accountId: person.id })
    expect(consent).to.include({ applicationId: application.id })
    expect(consent?.scopes).to.have.members(['offline_access', 'openid', 'profile'])
    expect(consent?.lastUsedAt).to.be.instanceOf(Date)
    const stored = JSON.stringify(await harness.orm.em.fork().execute('select * from openid_rows'))
    for (const token of [tokens.access_token, tokens.refresh_token!]) expect(stored).to.not.include(token)
  })

  it('is a log-in of a public application too, from another origin, with a redirect URI of a private scheme', async () => {
    const redirect = 'com.example.app:/done'
    const application = await harness.insertApplication({ type: 'public', redirectUris: [redirect, redirectUri] })
    const person = await harness.insertPerson()
    const { tokens } = await logIn(harness, application, person, { redirect })
    expect(tokens.claims()?.sub).to.equal(person.id)
    const preflight = (from: string) =>
      harness.reach(`${origin}/oauth2/token`, {
        method: 'POST',
        headers: { origin: from },
        body: new URLSearchParams({ client_id: application.id, grant_type: 'authorization_code' }),
      })
    expect((await preflight('https://wiki.example')).headers.get('access-control-allow-origin')).to.equal(
      'https://wiki.example',
    )
    expect((await preflight('https://evil.example')).headers.get('access-control-allow-origin')).to.equal(null)
  })

  it('gives tokens that an application verifies itself, for five minutes, by the published keys', async () => {
    const application = await harness.insertApplication({ accessTokens: 'jwt' })
    const { config, tokens } = await logIn(harness, application, await harness.insertPerson())
    const keys = createRemoteJWKSet(new URL(`${origin}/oauth2/jwks`), {
      [jwksFetch]: (url: string, init: RequestInit) => harness.reach(url, init),
    })
    const { payload, protectedHeader } = await jwtVerify(tokens.access_token, keys, {
      issuer: origin,
      audience: application.id,
    })
    expect(protectedHeader).to.include({ alg: 'EdDSA', typ: 'at+jwt' })
    expect(payload.exp! - payload.iat!).to.equal(300)
    expect(config.serverMetadata().jwks_uri).to.equal(`${origin}/oauth2/jwks`)
  })

  it('refreshes with opaque tokens once the application no longer verifies them itself', async () => {
    const application = await harness.insertApplication({ accessTokens: 'jwt' })
    const person = await harness.insertPerson()
    const { config, tokens } = await logIn(harness, application, person, offline)
    expect(tokens.access_token.split('.')).to.have.length(3)

    await harness.orm.em.fork().nativeUpdate(Application, { id: application.id }, { accessTokens: 'opaque' })

    const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token!)
    expect(await oidc.tokenIntrospection(config, refreshed.access_token)).to.include({ active: true, sub: person.id })
    const again = await oidc.refreshTokenGrant(config, refreshed.refresh_token!)
    expect(again.access_token.split('.')).to.have.length(1)
  })

  it('keys: those of a rotation are published at once, sign after ten minutes, and nobody notices', async () => {
    const application = await harness.insertApplication()
    const person = await harness.insertPerson()
    const published = async () => {
      harness.clock.advance(policy.refreshMs)
      const response = await harness.reach(`${origin}/oauth2/jwks`, {}, 1)
      return ((await response.json()) as { keys: { kid: string; d?: string }[] }).keys
    }
    const before = await published()
    expect(before).to.have.length(2)
    expect(before.every((key) => key.d === undefined)).to.equal(true)
    const { encryptionKey } = harness.replicas[0].deps
    await rotateKeys({ orm: harness.orm, clock: harness.clock, encryptionKey })
    expect(await published()).to.have.length(4)
    const kidOf = async () => {
      const { tokens } = await logIn(harness, application, person)
      return (JSON.parse(Buffer.from(tokens.id_token!.split('.')[0]!, 'base64url').toString()) as { kid: string }).kid
    }
    const known = before.map(({ kid }) => kid)
    expect(known).to.include(await kidOf())
    harness.clock.advance(keyCacheMs)
    expect(known).to.not.include(await kidOf())
    harness.clock.advance(keyRetirementMs)
    expect((await published()).map(({ kid }) => kid)).to.not.include.members(known)
    const rows = JSON.stringify(await harness.orm.em.fork().execute('select private_key from openid_keys'))
    expect(rows).to.match(/enc1/).and.not.match(/"d"/)
  })

  it('accepts a pushed request, once', async () => {
    const application = await harness.insertApplication()
    const config = await harness.configure(application)
    const { url, checks } = await request(config)
    const pushed = await oidc.buildAuthorizationUrlWithPAR(config, url.searchParams)
    const back = await openBrowser(harness).allow(pushed, await harness.insertPerson())
    expect((await oidc.authorizationCodeGrant(config, back, checks)).claims()?.aud).to.equal(application.id)
    const again = await openBrowser(harness).visit(pushed.href)
    expect(again.headers.get('location')).to.match(/error=/)
  })

  it('tells the page who asks for what, and asks for consent once', async () => {
    const application = await harness.insertApplication({ name: 'Forum' })
    const person = await harness.insertPerson()
    const config = await harness.configure(application)
    const browser = openBrowser(harness)
    const uid = await browser.ask((await request(config, { parameters: { login_hint: 'ada' } })).url)
    const shown = await browser.read(uid, person)
    expect(shown.body).to.deep.equal({
      application: { id: application.id, name: 'Forum', redirectHost: 'wiki.example' },
      scopes: ['openid', 'profile'],
      isConsentNeeded: true,
      prompt: 'consent',
      loginHint: 'ada',
    })
    expect((await browser.decide(uid, person)).status).to.equal(200)
    const second = await browser.ask((await request(config)).url)
    expect((await browser.read(second, person)).body).to.include({ isConsentNeeded: false })
    const trusted = await harness.configure(await harness.insertApplication({ skipConsent: true }))
    const third = await browser.ask((await request(trusted)).url)
    expect((await browser.read(third, person)).body).to.include({ isConsentNeeded: false })
  })

  it('is denied by the person', async () => {
    const config = await harness.configure(await harness.insertApplication())
    const { url, checks } = await request(config)
    const back = await openBrowser(harness).allow(url, await harness.insertPerson(), 'deny')
    expect(back.searchParams.get('iss')).to.equal(origin)
    const failed = await oidc.authorizationCodeGrant(config, back, checks).catch((error: unknown) => error)
    expect(failed).to.be.instanceOf(oidc.AuthorizationResponseError).with.property('error', 'access_denied')
  })

  it('max_age judges the login of the session that decides, and `auth_time` tells it', async () => {
    const config = await harness.configure(await harness.insertApplication())
    const person = await harness.insertPerson()
    const now = Math.floor(Date.now() / 1_000)
    const sessions = {
      old: { at: now - 3_600 },
      renewed: { at: now - 40, renewalOf: now - 3_600 },
      unknown: { at: now - 30, renewalOf: null },
      recent: { at: now - 20 },
    }
    for (const signIn of Object.values(sessions)) await insertSignIn(person.id, signIn)
    const authTime = async (session: keyof typeof sessions, maxAge: number) => {
      const browser = openBrowser(harness)
      const { url, checks } = await request(config, { parameters: { max_age: String(maxAge) } })
      const as = { id: person.id, username: person.username, tokenIssuedAt: sessions[session].at }
      const { body } = await browser.decide(await browser.ask(url), as)
      if (body.code !== undefined) return body.code
      const back = new URL((await browser.visit(body.url)).headers.get('location')!)
      return (await oidc.authorizationCodeGrant(config, back, { ...checks, maxAge })).claims()?.auth_time
    }
    const due = 'fresh_login_required'
    for (const session of ['old', 'renewed', 'unknown'] as const)
      expect(await authTime(session, 600), session).to.equal(due)
    expect(await authTime('recent', 600)).to.equal(now - 20)
    for (const session of ['old', 'renewed'] as const)
      expect(await authTime(session, 7_200), session).to.equal(now - 3_600)
    expect(await authTime('unknown', 7_200)).to.equal(due)
  })

  it('device: refused where the application has none, also what was asked before that', async () => {
    const application = await harness.insertApplication({ type: 'public', redirectUris: [], deviceGrant: true })
    const config = await harness.configure(application)
    const start = () => oidc.initiateDeviceAuthorization(config, { scope: 'openid profile' })
    const asked = await start()
    const allow = (deviceGrant: boolean) =>
      harness.orm.em.fork().nativeUpdate(Application, { id: application.id }, { deviceGrant })
    const errorOf = async (asking: Promise<unknown>) =>
      await asking.then(
        () => null,
        (error: { error: string }) => error.error,
      )
    await allow(false)

    const type = 'urn:ietf:params:oauth:grant-type:device_code'
    expect(await errorOf(start())).to.equal('unauthorized_client')
    const polled = oidc.genericGrantRequest(config, type, { device_code: asked.device_code })
    expect(await errorOf(polled)).to.equal('unauthorized_client')
    const body = { userCode: asked.user_code }
    const typed = () => harness.calls('POST', '/oauth2/device-code', { body, as: person })
    const person = await harness.insertPerson()
    expect((await typed()).body).to.include({ code: 'device_code_unknown' })
    await allow(true)
    expect((await typed()).status).to.equal(200)
  })

  it('device: a code that a person types, allowed, denied, and over after that', async () => {
    const application = await harness.insertApplication({ type: 'public', redirectUris: [], deviceGrant: true })
    const config = await harness.configure(application)
    const person = await harness.insertPerson()
    const start = () => oidc.initiateDeviceAuthorization(config, { scope: 'openid profile' })
    const asked = await start()
    expect(asked.verification_uri).to.equal(`${origin}/device`)
    const poll = async (code: string) =>
      await oidc
        .genericGrantRequest(config, 'urn:ietf:params:oauth:grant-type:device_code', { device_code: code })
        .catch((error: oidc.ResponseBodyError) => error.error)
    expect(await poll(asked.device_code)).to.equal('authorization_pending')
    const type = (userCode: string) =>
      harness.calls<{ uid: string }>('POST', '/oauth2/device-code', { as: person, body: { userCode } })
    const decide = (uid: string, decision: string) =>
      harness.calls('POST', '/oauth2/device-code/decision', { as: person, body: { uid, decision } })
    const found = await type(asked.user_code.toLowerCase().replace('-', ' '))
    expect(found.body).to.deep.include({ application: { id: application.id, name: 'Wiki', redirectHost: null } })
    expect((await decide(found.body.uid, 'allow')).status).to.equal(200)
    expect((await decide(found.body.uid, 'deny')).body).to.include({ code: 'device_code_unknown' })
    expect((await type(asked.user_code)).body).to.include({ code: 'device_code_unknown' })
    const tokens = (await poll(asked.device_code)) as oidc.TokenEndpointResponse
    expect(await oidc.fetchUserInfo(config, tokens.access_token, person.id)).to.include({ sub: person.id })
    const denied = await start()
    await decide((await type(denied.user_code)).body.uid, 'deny')
    expect(await poll(denied.device_code)).to.equal('access_denied')
  })

  it('end-session: an ID token ends what its person allowed this application, and nothing else', async () => {
    const person = await harness.insertPerson()
    const [wiki, forum] = [await harness.insertApplication(), await harness.insertApplication()]
    const [first, other] = [await logIn(harness, wiki, person, offline), await logIn(harness, forum, person)]
    const url = oidc.buildEndSessionUrl(first.config, {
      id_token_hint: first.tokens.id_token!,
      state: 'kept',
      post_logout_redirect_uri: 'https://wiki.example/',
    })
    const ended = await openBrowser(harness).visit(url.href)
    expect([ended.status, ended.headers.get('location')]).to.deep.equal([303, 'https://wiki.example/?state=kept'])
    expect(ended.headers.getSetCookie()).to.deep.equal([])
    expect(await oidc.tokenIntrospection(first.config, first.tokens.access_token)).to.deep.equal({ active: false })
    expect(await oidc.tokenIntrospection(other.config, other.tokens.access_token)).to.include({ active: true })
    const nobody = await openBrowser(harness).post(`${origin}/oauth2/end-session`, new URLSearchParams())
    expect(nobody.headers.get('location')).to.equal(`${origin}/authorize#logout=done`)
  })

  it('secret: the one before works for a day', async () => {
    const application = await harness.insertApplication()
    const until = new Date(harness.clock.now() + policy.previousSecretMs)
    const renewed = {
      secretHash: hashSecret('another'),
      previousSecretHash: hashSecret(secret),
      previousSecretUntil: until,
    }
    await harness.orm.em.fork().nativeUpdate(Application, { id: application.id }, renewed)
    const { config, tokens } = await logIn(harness, application, await harness.insertPerson())
    expect(await oidc.tokenIntrospection(config, tokens.access_token)).to.include({ active: true })
    harness.clock.advance(policy.previousSecretMs)
    const late = await oidc.tokenIntrospection(config, tokens.access_token).catch((error: unknown) => error)
    expect(late).to.be.instanceOf(oidc.WWWAuthenticateChallengeError).with.property('status', 401)
  })

  it('is 404, as any unknown path, while the setting is off', async () => {
    const set = (openidEnabled: boolean) =>
      harness.orm.em.fork().nativeUpdate(InstanceSettings, { id: 1 }, { openidEnabled })
    await set(false)
    harness.clock.advance(policy.refreshMs)
    const as = await harness.insertPerson()
    for (const path of ['/.well-known/openid-configuration', '/oauth2/auth', '/oauth2/jwks', '/oauth2/interaction/x']) {
      const response = await harness.reach(origin + path)
      expect([response.status, await response.json()], path).to.deep.equal([
        404,
        { error: 'Not found', statusCode: 404, code: 'not_found' },
      ])
    }
    const uid = 'x'.repeat(21)
    const asked = [
      harness.calls('GET', `/oauth2/interaction/${uid}/details`, { as }),
      harness.calls('POST', `/oauth2/interaction/${uid}/decision`, { as, body: { decision: 'deny' } }),
      harness.calls('POST', '/oauth2/device-code', { as, body: { userCode: 'x' } }),
      harness.calls('POST', '/oauth2/device-code/decision', { as, body: { uid, decision: 'deny' } }),
    ]
    for (const { body } of await Promise.all(asked)) expect(body['code']).to.equal('not_found')
    await set(true)
    harness.clock.advance(policy.refreshMs)
  })
})
