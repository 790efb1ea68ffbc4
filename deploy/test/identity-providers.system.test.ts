import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually, startIdentityProvider, type TestIdentityProvider } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import { WebSocket } from 'ws'
import { ensureWebBuilt } from '../../tools/setup/build-web.js'
import type { Cluster } from '../cluster/cluster.ts'
import { query } from './query.ts'
import { startTestCluster } from './test-cluster.ts'

/** When one of two identities is killed. */
const moments = ['before the person comes back', 'before the finish', 'during the finish'] as const
type Moment = (typeof moments)[number]
type Json = Record<string, unknown>
type Answer = { status: number; body: Json }

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'

/** Contract: 3, Identity providers. */
describe('Logins with identity providers on two replicas, of which one is killed meanwhile', function () {
  this.timeout(600_000)
  const scope = new AsyncDisposableStack()
  const providers: Record<string, TestIdentityProvider> = {}
  let cluster: Cluster
  let turn = 0
  let restart = Promise.resolve()
  before(async () => {
    await ensureWebBuilt()
    const accounts = moments.map((_, index) => ({ sub: `ada${index}`, preferred_username: `ada${index}` }))
    for (const id of ['own', 'other']) providers[id] = scope.use(await startIdentityProvider({ accounts }))
    const folder = scope.adopt(await mkdtemp(join(tmpdir(), 'providers-')), (path) => rm(path, { recursive: true }))
    const file = join(folder, 'providers.json')
    const entries = Object.entries(providers).map(([id, { issuer, clientId, clientSecret }]) => {
      return { id, name: id, issuer, clientId, clientSecret }
    })
    await writeFile(file, JSON.stringify({ providers: entries }))
    const trusted = { FEDERATION_ALLOW_PRIVATE: 'loopback', TRUST_PROXY: 'loopback' }
    const environment = { GATEHOUSE_PROVIDERS: file, ...trusted }
    const replicas = { gateway: 2, identity: 2, 'session-gateway': 2 }
    cluster = scope.use(await startTestCluster({ replicas, environment }))
  })
  after(() => scope.disposeAsync())

  /** The other one answers; the one before has started again. */
  async function killOne(): Promise<void> {
    await restart
    turn += 1
    const identities = cluster.processes.filter(({ service }) => service === 'identity')
    const one = identities[turn % identities.length]!
    await one.kill()
    restart = one.start()
  }

  async function send(method: string, path: string, given: { token?: string; body?: object; cookie?: string } = {}) {
    const { token, body, cookie } = given
    turn += 1
    const headers = {
      // Each of another address, whose limits count for it alone.
      'x-forwarded-for': `10.2.0.${turn % 256}`,
      ...(body && { 'content-type': 'application/json' }),
      ...(token && { authorization: `Bearer ${token}` }),
      ...(cookie && { cookie }),
    }
    const gateway = cluster.gateways[turn % cluster.gateways.length]!
    return await fetch(gateway + path, {
      method,
      headers,
      redirect: 'manual',
      ...(body && { body: JSON.stringify(body) }),
    })
  }
  async function call(...given: Parameters<typeof send>): Promise<Answer> {
    const response = await send(...given)
    return { status: response.status, body: (await response.json()) as Json }
  }

  type Trip = { purpose?: string; provider?: string; token?: string; killed?: Moment | undefined }

  /** What a browser does: each step at the other gateway. Gives the ticket. */
  async function goTo(sub: string, { purpose = 'login', provider = 'own', token = '', killed }: Trip): Promise<string> {
    const started = await send('POST', `/api/auth/providers/${provider}/start`, { token, body: { purpose } })
    const { url } = (await started.json()) as { url: string }
    // Nobody is logged in any more: the act is done, or refused.
    if (started.status === 401) return ''
    const cookie = started.headers.getSetCookie()[0]!.split(';')[0]!
    if (killed === 'before the person comes back') await killOne()
    const callback = providers[provider]!.signIn(url, sub)
    const returned = await send('GET', callback.pathname + callback.search, { cookie })
    const ticket = new URLSearchParams(returned.headers.get('location')?.split('#')[1]).get('ticket')
    if (killed === 'before the finish') await killOne()
    return ticket ?? ''
  }

  /** Again from its start after a 5xx, now without a kill. */
  async function act(moment: Moment, attempt: (killed: Moment | undefined) => Promise<Answer>): Promise<Answer> {
    let killed: Moment | undefined = moment
    return await eventually(
      'the act is done',
      async () => {
        const current = killed
        killed = undefined
        const answering = attempt(current)
        const answer = await answering
        return answer.status < 500 ? answer : undefined
      },
      60_000,
    )
  }
  /** The request that ends an act, with a kill meanwhile. */
  async function finish(killed: Moment | undefined, ...given: Parameters<typeof send>): Promise<Answer> {
    const [answer] = await Promise.all([call(...given), killed === 'during the finish' && killOne()])
    return answer
  }

  for (const [index, moment] of moments.entries()) {
    const sub = `ada${index}`

    it(`registers, logs in, links, sets a password and leaves, each once: killed ${moment}`, async () => {
      const registered = await act(moment, async (killed) => {
        const ticket = await goTo(sub, { killed })
        return await finish(killed, 'POST', '/api/auth/providers/finish', { body: { ticket, username: sub } })
      })
      const loggedIn = await act(moment, async (killed) => {
        const ticket = await goTo(sub, { killed })
        return await finish(killed, 'POST', '/api/auth/providers/finish', { body: { ticket } })
      })
      const token = String(loggedIn.body['token'])
      const linked = await act(moment, async (killed) => {
        const confirm = await goTo(sub, { purpose: 'confirm', token })
        const ticket = await goTo(sub, { purpose: 'link', provider: 'other', token, killed })
        return await finish(killed, 'POST', '/api/auth/providers/finish', { token, body: { ticket, confirm } })
      })
      const identities = await call('GET', '/api/users/@me/identities', { token })
      const newPassword = `a first password of ${sub}`
      const changed = await act(moment, async (killed) => {
        const ticket = await goTo(sub, { purpose: 'confirm', token, killed })
        return await finish(killed, 'POST', '/api/users/@me/change-password', { token, body: { ticket, newPassword } })
      })
      const byPassword = await call('POST', '/api/auth/login', { body: { username: sub, password: newPassword } })
      const fresh = String(byPassword.body['token'])
      const left = await act(moment, async (killed) => {
        const ticket = await goTo(sub, { purpose: 'confirm', token: fresh, killed })
        return await finish(killed, 'DELETE', '/api/users/@me', { token: fresh, body: { username: sub, ticket } })
      })
      const afterwards = await act(moment, async () => {
        const ticket = await goTo(sub, {})
        return await call('POST', '/api/auth/providers/finish', { body: { ticket } })
      })

      // Where the answer was lost, the person finds it done: logged in for registered, 401 for changed and left.
      expect([200, 201]).to.include(registered.status)
      expect(registered.body['user']).to.include({ username: sub, hasPassword: false })
      expect([loggedIn.status, (loggedIn.body['user'] as Json)['id']]).to.deep.equal([
        200,
        (registered.body['user'] as Json)['id'],
      ])
      expect([200, 409]).to.include(linked.status)
      const held = identities.body['identities'] as { provider: string }[]
      expect(held.map(({ provider }) => provider)).to.have.members(['own', 'other'])
      expect([200, 401]).to.include(changed.status)
      expect(byPassword.status).to.equal(200)
      expect([200, 401]).to.include(left.status)
      expect([afterwards.status, afterwards.body['code']]).to.deep.equal([409, 'username_required'])
    })
  }

  it('a browser whose replica is killed while the person is at the provider comes back, and goes on', async () => {
    await using browser = await launchChromium()
    const page = await browser.newPage()
    const click = (name: string) => page.getByRole('button', { name, exact: true }).click()
    const identify = async () => {
      await click('Log in with own')
      await page.getByLabel('Account').waitFor()
      await killOne()
      await page.getByLabel('Account').fill('bea')
      await click('Continue')
    }
    await page.goto(`${cluster.gateways[0]}/login`)
    await identify()
    await page.getByLabel('Username').fill('bea')
    await killOne()
    await click('Create account')
    await page.getByRole('heading', { name: 'Connected instances' }).waitFor()
    await click('Your account')
    await click('Log out')

    await identify()

    await page.getByRole('heading', { name: 'Connected instances' }).waitFor()
    const accounts = "select count(*)::int as count from users where username = 'bea'"
    expect(await query(cluster.postgres.url, accounts)).to.deep.equal([{ count: 1 }])
    await restart
  })

  it('a logout by the provider ends the session everywhere, also while NATS is away', async () => {
    const sub = 'eve'
    const enter = async () => {
      const ticket = await goTo(sub, {})
      return await call('POST', '/api/auth/providers/finish', { body: { ticket, username: sub } })
    }
    const logOut = async () => {
      const { issuer, clientId, sign } = providers['own']!
      const iat = Math.floor(Date.now() / 1_000)
      const claims = { iss: issuer, aud: clientId, sub, iat, exp: iat + 60, jti: crypto.randomUUID() }
      const logoutToken = await sign({ ...claims, events: { [logoutEvent]: {} } }, 'logout+jwt')
      const body = new URLSearchParams({ logout_token: logoutToken })
      const path = '/api/auth/providers/own/back-channel-logout'
      return (await fetch(cluster.gateways[0]! + path, { method: 'POST', body })).status
    }
    const statuses = async (token: string) =>
      await Promise.all(
        cluster.gateways.map(async (gateway) => {
          const headers = { authorization: `Bearer ${token}` }
          return (await fetch(`${gateway}/api/users/@me`, { headers })).status
        }),
      )
    const openSocket = async (gateway: string, token: string) => {
      const socket = new WebSocket(`${gateway.replace('http', 'ws')}/ws`)
      const { promise: closed, resolve } = Promise.withResolvers<number>()
      socket.on('close', resolve)
      const { promise: ready, resolve: isReady } = Promise.withResolvers<void>()
      socket.on('open', () => socket.send(JSON.stringify({ type: 'auth', token })))
      socket.on('message', (frame: Buffer) => String(frame).includes('"ready"') && isReady())
      await ready
      return { closed }
    }

    const first = String((await enter()).body['token'])
    const sockets = await Promise.all(cluster.gateways.map((gateway) => openSocket(gateway, first)))
    const before = await statuses(first)
    const answers = [await logOut()]
    const after = await statuses(first)
    const codes = await Promise.all(sockets.map(({ closed }) => closed))
    const second = String((await enter()).body['token'])
    const later = await Promise.all(cluster.gateways.map((gateway) => openSocket(gateway, second)))
    await cluster.nats.kill()
    answers.push(await logOut())
    const withoutNats = await statuses(second)
    await cluster.nats.start()
    const laterCodes = await Promise.all(later.map(({ closed }) => closed))

    expect(answers).to.deep.equal([200, 200])
    expect([before, after, withoutNats]).to.deep.equal([
      [200, 200],
      [401, 401],
      [401, 401],
    ])
    expect([codes, laterCodes]).to.deep.equal([
      [4004, 4004],
      [4004, 4004],
    ])
  })
})
