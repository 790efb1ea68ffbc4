import { answered } from '@gatehouse/test-kit'
import { expect } from 'chai'
import * as oidc from 'openid-client'
import { openBrowser } from './open-browser.ts'
import { startOpenidInstance } from './openid-instance.ts'

const count = 5
const password = 'a long password'

/** Design: invariant 1; Contract: 3, Applications. The whole path, with the changes as people and admins make them. */
describe('After the answer to a change no application has anything of the account', () => {
  const opened = new AsyncDisposableStack()
  let instance: Awaited<ReturnType<typeof startOpenidInstance>>
  let config: oidc.Configuration
  const redirect_uri = 'http://127.0.0.1:1/callback'
  before(async () => {
    instance = opened.use(await startOpenidInstance())
    const { id, secret } = await instance.buildApplication({ redirectUris: [redirect_uri] })
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- is marked so that nobody overlooks it
    const options = { execute: [oidc.allowInsecureRequests] }
    config = await oidc.discovery(new URL(instance.origin), id, undefined, oidc.ClientSecretBasic(secret), options)
  })
  after(() => opened.disposeAsync())

  async function logIn(token: string) {
    const pkceCodeVerifier = oidc.randomPKCECodeVerifier()
    const url = oidc.buildAuthorizationUrl(config, {
      redirect_uri,
      scope: 'openid profile offline_access',
      prompt: 'consent',
      code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    })
    const browser = openBrowser()
    const asked = await browser.fetchOnce(`${url.origin}${url.pathname}`, { method: 'POST', body: url.searchParams })
    const page = await browser.fetchOnce(new URL(asked.headers.get('location') ?? '', instance.origin).href)
    const uid = (page.headers.get('location') ?? '').split('#')[1] ?? ''
    const decided = await browser.fetchOnce(`${instance.origin}/oauth2/interaction/${uid}/decision`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: '{"decision":"allow"}',
    })
    const resumed = await browser.fetchOnce(((await decided.json()) as { url: string }).url)
    const back = new URL(resumed.headers.get('location') ?? '')
    return await oidc.authorizationCodeGrant(config, back, { pkceCodeVerifier })
  }

  async function alive(tokens: readonly Awaited<ReturnType<typeof logIn>>[]) {
    const works = { introspections: 0, userinfo: 0, refreshes: 0 }
    for (const one of tokens) {
      if ((await oidc.tokenIntrospection(config, one.access_token)).active) works.introspections += 1
      const sub = one.claims()!.sub
      await oidc.fetchUserInfo(config, one.access_token, sub).then(
        () => (works.userinfo += 1),
        () => undefined,
      )
      await oidc.refreshTokenGrant(config, one.refresh_token!).then(
        () => (works.refreshes += 1),
        () => undefined,
      )
    }
    return works
  }

  type Person = { id: string; token: string; username: string }
  const own = (method: string, path: string, body: object) => (person: Person) =>
    answered(instance.call(method, path, { token: person.token, body }))
  const byAdmin = (method: string, path: string, body?: object) => (person: Person) =>
    instance.asAdmin(method, `/api/admin/users/${person.id}${path}`, body)
  const changes: [string, (person: Person) => Promise<unknown>][] = [
    [
      'change of the password',
      own('POST', '/api/users/@me/change-password', { currentPassword: password, newPassword: `${password}r` }),
    ],
    ['end of sessions', own('POST', '/api/users/@me/sessions/end', { password })],
    ['deletion', (person) => own('DELETE', '/api/users/@me', { password, username: person.username })(person)],
    ['reset by an admin', byAdmin('POST', '/reset-password')],
    ['suspension', byAdmin('POST', '/suspend', {})],
    ['deletion by an admin', byAdmin('DELETE', '', { mode: 'soft' })],
  ]
  for (const [index, [name, change]] of changes.entries()) {
    it(`${name}: 0 of ${count} introspections, userinfo calls and refreshes`, async () => {
      const body = { username: `person_${index}`, password }
      const registered = await answered(
        instance.call<{ token: string; user: { id: string } }>('POST', '/api/auth/register', { body }),
      )
      const person = { id: registered.body.user.id, token: registered.body.token, username: body.username }
      const tokens: Awaited<ReturnType<typeof logIn>>[] = []
      for (let made = 0; made <= count; made += 1) tokens.push(await logIn(person.token))
      const control = tokens.pop()!
      expect(await alive([control])).to.deep.equal({ introspections: 1, userinfo: 1, refreshes: 1 })

      await change(person)

      expect(await alive(tokens)).to.deep.equal({ introspections: 0, userinfo: 0, refreshes: 0 })
    })
  }

  it('a person ends what one application may, and sees it in the list before', async () => {
    const { alice, call } = instance
    const tokens = await logIn(alice.token)
    const list = async () =>
      (await call<{ applications: { id: string }[] }>('GET', '/api/users/@me/applications', { token: alice.token }))
        .body.applications
    const [application] = await list()
    await answered(call('DELETE', `/api/users/@me/applications/${application!.id}`, { token: alice.token }))
    expect(await list()).to.deep.equal([])
    expect(await alive([tokens])).to.deep.equal({ introspections: 0, userinfo: 0, refreshes: 0 })
  })
})
