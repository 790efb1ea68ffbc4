import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { answered, eventually, freePort, startGlewlwyd } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { startInstance } from './instance.ts'
import { openBrowser, type TestBrowser } from './open-browser.ts'

const clientId = 'chat'
const clientSecret = 'aSecretOfTheChat'
const ada = { username: 'ada', password: 'a password elsewhere' }

/** Contract: 3, Identity providers. With another's provider, in C, as Debian has it. */
describe('Glewlwyd as an identity provider', () => {
  const opened = new AsyncDisposableStack()
  let origin: string
  let provider: string
  let issuer: string
  let log: Record<string, unknown>[]
  before(async () => {
    const port = await freePort()
    origin = `http://127.0.0.1:${port}`
    const glewlwyd = opened.use(await startGlewlwyd())
    provider = `${glewlwyd.url}/api`
    issuer = `${provider}/oidc`
    await setUpProvider()
    const folder = opened.adopt(await mkdtemp(join(tmpdir(), 'provider-')), (path) => rm(path, { recursive: true }))
    const file = join(folder, 'providers.json')
    await writeFile(file, JSON.stringify({ providers: [{ id: 'own', name: 'Own', issuer, clientId, clientSecret }] }))
    const environment = { PORT: String(port), PUBLIC_ORIGIN: origin, GATEHOUSE_PROVIDERS: file }
    const instance = opened.use(await startInstance({ ...environment, FEDERATION_ALLOW_PRIVATE: 'loopback' }))
    log = instance.log
  })
  after(async () => await opened.disposeAsync())

  type Given = { token?: string; body?: object }
  const call = async ({ fetchOnce }: TestBrowser, method: string, url: string, { token = '', body }: Given = {}) => {
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
    const response = await fetchOnce(url, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    const text = await response.text()
    return { status: response.status, body: JSON.parse(text || '{}') as Record<string, unknown> }
  }

  async function setUpProvider() {
    const admin = openBrowser()
    const post = async (path: string, body: object) => await answered(call(admin, 'POST', provider + path, { body }))
    const { privateKey: key, publicKey: cert } = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'sec1', format: 'pem' },
    })
    await post('/auth', { username: 'admin', password: 'password' })
    await post('/scope/', { name: 'profile', display_name: 'Profile', password_required: false })
    const signing = { 'jwt-type': 'ecdsa', 'jwt-key-size': '256', key, cert, 'jwks-show': true }
    const lifetimes = { 'access-token-duration': 600, 'refresh-token-duration': 600, 'code-duration': 60 }
    const session = { 'session-cookie-name': 'SESSION', 'session-cookie-expiration': 600 }
    const logout = { 'session-management-allowed': true, 'back-channel-logout-allowed': true, ...session }
    const username = { name: 'preferred_username', 'user-property': 'username', type: 'string', mandatory: true }
    const claims = { 'name-claim': 'mandatory', claims: [{ ...username, scope: [] }] }
    const flow = { 'auth-type-code-enabled': true, 'pkce-allowed': true, 'allowed-scope': ['openid', 'profile'] }
    const parameters = { iss: issuer, ...signing, ...lifetimes, ...logout, ...claims, ...flow }
    await post('/mod/plugin/', { module: 'oidc', name: 'oidc', display_name: 'OpenID Connect', parameters })
    const own = `${origin}/api/auth/providers/own`
    await post('/client/', {
      client_id: clientId,
      name: 'Chat',
      confidential: true,
      client_secret: clientSecret,
      scope: [],
      redirect_uri: [`${own}/callback`],
      backchannel_logout_uri: `${own}/back-channel-logout`,
      authorization_type: ['code'],
      token_endpoint_auth_method: ['client_secret_basic'],
      enabled: true,
    })
    await post('/user/', { ...ada, name: 'Ada of elsewhere', scope: ['openid', 'profile', 'g_profile'], enabled: true })
  }

  /** Logs in at the provider and agrees, as its page does, and gives what the page of the web app gets. */
  async function signIn(browser: TestBrowser, { purpose = 'login', token = '' } = {}) {
    const start = `${origin}/api/auth/providers/own/start`
    const started = await answered(call(browser, 'POST', start, { token, body: { purpose } }))
    const asked = (await browser.fetchOnce(String(started.body['url']))).headers.get('location') ?? ''
    const goOn = new URL(asked).searchParams.get('callback_url') ?? ''
    await answered(call(browser, 'POST', `${provider}/auth`, { body: ada }))
    const scope = 'openid profile'
    await answered(call(browser, 'PUT', `${provider}/auth/grant/${clientId}`, { body: { scope } }))
    const { url } = await browser.follow(`${goOn}&g_continue`)
    return Object.fromEntries(new URLSearchParams(url.split('#')[1]))
  }

  const finish = async (body: object) =>
    await call(openBrowser(), 'POST', `${origin}/api/auth/providers/finish`, { body })
  const readOwn = async (token: string) => await call(openBrowser(), 'GET', `${origin}/api/users/@me`, { token })

  /** At the provider, whose API takes the ID of the session, which it tells in ID tokens only. */
  async function logOut(browser: TestBrowser) {
    const redirect_uri = `${origin}/api/auth/providers/own/callback`
    const asked = { response_type: 'code', client_id: clientId, redirect_uri, scope: 'openid', nonce: 'any' }
    const page = await browser.fetchOnce(`${issuer}/auth?${new URLSearchParams(asked)}&g_continue`)
    const code = new URL(page.headers.get('location') ?? '').searchParams.get('code') ?? ''
    const body = new URLSearchParams({ grant_type: 'authorization_code', code, redirect_uri })
    const headers = { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` }
    const tokens = await fetch(`${issuer}/token`, { method: 'POST', headers, body })
    const { id_token } = (await tokens.json()) as { id_token: string }
    await answered(call(browser, 'DELETE', `${issuer}/session/${String(decodeJwt(id_token)['sid'])}/`))
  }

  it('registers and logs in, takes no max_age of 0, and logs out everywhere', async () => {
    const browser = openBrowser()
    const { ticket } = await signIn(browser)
    const first = await finish({ ticket })
    expect([first.status, first.body['code']]).to.deep.equal([409, 'username_required'])
    expect(first.body['proposal']).to.deep.equal({ username: 'ada', displayName: 'Ada of elsewhere' })
    expect((await finish({ ticket, username: 'ada' })).status).to.equal(201)
    const again = await finish({ ticket: (await signIn(browser))['ticket'] })
    const token = String(again.body['token'])
    expect((await readOwn(token)).body).to.include({ username: 'ada', hasPassword: false })

    expect(await signIn(browser, { purpose: 'confirm', token })).to.include({ error: 'provider_error' })
    const failed = log.find(({ msg }) => msg === 'sign-in at a provider failed')
    expect(failed).to.include({ oauthError: 'invalid_request', description: 'max_age invalid' })

    expect((await readOwn(token)).status).to.equal(200)
    await logOut(browser)
    await eventually('the session to end', async () => (await readOwn(token)).status === 401)
  })
})
