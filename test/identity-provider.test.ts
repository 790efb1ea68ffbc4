import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually, freePort } from '@gatehouse/test-kit'
import { expect } from 'chai'
import Provider from 'oidc-provider'
import { startInstance } from './instance.ts'
import { openBrowser, type TestBrowser } from './open-browser.ts'

/** Contract: 3, Identity providers. With a certified implementation of OpenID Connect, over the whole path. */
describe('A certified identity provider', () => {
  const opened = new AsyncDisposableStack()
  let origin: string
  let issuer: string
  before(async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    opened.defer(() => (server.closeAllConnections(), void server.close()))
    issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const port = await freePort()
    origin = `http://127.0.0.1:${port}`
    const api = `${origin}/api/auth/providers/own`
    const provider = new Provider(issuer, {
      clients: [
        {
          client_id: 'chat',
          client_secret: 'a secret-of the chat:%',
          redirect_uris: [`${api}/callback`],
          backchannel_logout_uri: `${api}/back-channel-logout`,
        },
      ],
      claims: { openid: ['sub'], profile: ['name', 'preferred_username'] },
      features: { backchannelLogout: { enabled: true } },
      // Its own connections refuse loopback addresses.
      fetch: (url: string, { method = '', headers = {}, body = null }: RequestInit) =>
        fetch(url, { method, headers, body }),
      findAccount: (_: unknown, sub: string) => ({
        accountId: sub,
        claims: () => ({ sub, name: `${sub} of elsewhere`, preferred_username: sub }),
      }),
    })
    const answer = provider.callback()
    server.on('request', (request, response) => void answer(request, response))
    const folder = opened.adopt(await mkdtemp(join(tmpdir(), 'provider-')), (path) => rm(path, { recursive: true }))
    const file = join(folder, 'providers.json')
    const entry = { id: 'own', name: 'Our own', issuer, clientId: 'chat', clientSecret: 'a secret-of the chat:%' }
    await writeFile(file, JSON.stringify({ providers: [entry] }))
    const environment = { PORT: String(port), PUBLIC_ORIGIN: origin, GATEHOUSE_PROVIDERS: file }
    opened.use(await startInstance({ ...environment, FEDERATION_ALLOW_PRIVATE: 'loopback' }))
  })
  after(async () => await opened.disposeAsync())

  const call = async (method: string, path: string, { token, body }: { token?: string; body?: object } = {}) => {
    const headers = {
      ...(body && { 'content-type': 'application/json' }),
      ...(token && { authorization: `Bearer ${token}` }),
    }
    const response = await fetch(origin + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }

  /** Logs in at the provider, agrees, and gives what the page of the web app gets. */
  async function signIn(browser: TestBrowser, sub: string, { purpose = 'login', token = '' } = {}) {
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
    const start = { method: 'POST', headers, body: JSON.stringify({ purpose }) }
    const started = await browser.fetchOnce(`${origin}/api/auth/providers/own/start`, start)
    let page = await browser.follow(((await started.json()) as { url: string }).url)
    while (!page.url.includes('#')) {
      const [, prompt = ''] = /name="prompt" value="(\w+)"/.exec(page.text) ?? []
      if (prompt === '') throw new Error(page.text)
      page = await browser.send(page.url, { prompt, login: sub, password: 'any' })
    }
    return Object.fromEntries(new URLSearchParams(page.url.split('#')[1]))
  }

  it('registers, logs in, confirms, and logs out everywhere', async () => {
    const browser = openBrowser()
    const { ticket } = await signIn(browser, 'ada')
    const finish = '/api/auth/providers/finish'
    const first = await call('POST', finish, { body: { ticket } })
    expect([first.status, first.body['code']]).to.deep.equal([409, 'username_required'])
    expect(first.body['proposal']).to.deep.equal({ username: 'ada', displayName: 'ada of elsewhere' })
    expect((await call('POST', finish, { body: { ticket, username: 'ada' } })).status).to.equal(201)
    const again = await call('POST', finish, { body: { ticket: (await signIn(browser, 'ada'))['ticket'] } })
    expect(again.status).to.equal(200)

    const token = String(again.body['token'])
    const confirmed = await signIn(browser, 'ada', { purpose: 'confirm', token })
    const body = { ticket: confirmed['ticket'], newPassword: 'a password at last' }
    const changed = await call('POST', '/api/users/@me/change-password', { token, body })
    expect(changed.status).to.equal(200)
    const fresh = { token: String(changed.body['token']) }
    expect((await call('GET', '/api/users/@me', fresh)).body).to.include({ username: 'ada', hasPassword: true })

    const { text } = await browser.follow(`${issuer}/session/end`)
    const [, xsrf = ''] = /name="xsrf" value="(\w+)"/.exec(text) ?? []
    await browser.send(`${issuer}/session/end/confirm`, { xsrf, logout: 'yes' })

    await eventually('the session to end', async () => (await call('GET', '/api/users/@me', fresh)).status === 401)
  })
})
