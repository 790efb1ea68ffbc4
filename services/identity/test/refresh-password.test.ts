import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import bcrypt from 'bcrypt'
import { expect } from 'chai'
import { checkHomeEpoch } from '@gatehouse/contracts'
import { SignIn, type User } from '@gatehouse/domain'
import { OutboundFailure } from '@gatehouse/outbound'
import { buildUser, readUser } from './builders.ts'
import { fakeHome } from './fake-home.ts'
import { startTestIdentity, type TestResponse, type TestIdentity } from './harness.ts'
import { testPasswordHash } from './quick-hasher.ts'

const homePassword = 'the new one at home'
const generic = { error: 'Invalid username or password', statusCode: 401, code: 'invalid_credentials' }

describe('Login 5: the home instance decides when a federated password does not fit here', () => {
  let home: ReturnType<typeof fakeHome>
  let identity: TestIdentity
  let user: User

  beforeEach(async () => {
    home = fakeHome({ ivy: { id: '77', password: homePassword } })
    identity = await startTestIdentity({ overrides: { outbound: home.outbound } })
    user = await buildUser(identity, {
      username: 'ivy@home.example',
      homeInstance: 'home.example',
      homeUserId: '77',
      passwordChangedAt: 5,
    })
  })
  afterEach(async () => await identity[Symbol.asyncDispose]())

  const logIn = async (password: string, username = user.username): Promise<TestResponse> =>
    await identity.call('POST', '/api/auth/login', {
      body: { username, password },
      headers: { 'x-request-id': 'refresh-1' },
    })

  /** Contract: 3, Second factor. */
  it('says so where the home asks for a second factor, and does not hand a code to it', async () => {
    home.answer = ({ password }) => ({
      status: 401,
      body: password === homePassword ? '{"code":"second_factor_required"}' : '{"code":"invalid_credentials"}',
    })
    const body = { username: user.username, password: homePassword, code: '123456' }

    const refused = await identity.call('POST', '/api/auth/login', { body })

    expect([refused.status, refused.body['code']]).to.deep.equal([401, 'home_second_factor'])
    expect(home.logins()).to.deep.equal([{ username: 'ivy', password: homePassword }])
    const wrong = await logIn('wrong')
    expect([wrong.status, wrong.body]).to.deep.equal([401, generic])
    expect(await readUser(identity, user.id)).to.include({ passwordHash: testPasswordHash })
  })

  it('replaces the hash without touching passwordChangedAt, logs it, and asks the home only once', async () => {
    const answer = await logIn(homePassword)

    const refreshed = await readUser(identity, user.id)
    expect(answer.status).to.equal(200)
    expect(await bcrypt.compare(homePassword, refreshed.passwordHash)).to.equal(true)
    expect(refreshed).to.include({ passwordChangedAt: 5, stateVersion: user.stateVersion, status: 'offline' })
    const line = identity.logLines.find(({ msg }) => msg === 'password hash refreshed from home')
    expect(line).to.include({ userId: user.id, homeInstance: 'home.example', requestId: 'refresh-1' })
    expect(JSON.stringify(identity.logLines)).to.not.contain(homePassword)
    expect((await logIn(homePassword)).status).to.equal(200)
    expect(home.asked).to.have.length(1)
    const signIns = await identity.deps.orm.em.fork().find(SignIn, { userId: user.id }, { orderBy: { id: 'asc' } })
    expect(signIns.map(({ method }) => method)).to.deep.equal(['home', 'password'])
  })

  it('asks for the base name at https://<home>/api/auth/login, within 10 seconds', async () => {
    await logIn(homePassword)

    expect(home.asked[0]).to.include({ method: 'POST', url: 'https://home.example/api/auth/login', timeoutMs: 10_000 })
    expect(home.logins()).to.deep.equal([{ username: 'ivy', password: homePassword }])
  })

  it('rejects with the generic message when the home rejects or cannot be reached', async () => {
    const rejected = await logIn('wrong everywhere')
    home.answer = () => {
      throw new OutboundFailure('timeout', 'too slow')
    }
    const unreachable = await logIn(homePassword)

    for (const { status, body } of [rejected, unreachable]) expect([status, body]).to.deep.equal([401, generic])
    expect((await readUser(identity, user.id)).passwordHash).to.equal(testPasswordHash)
  })

  /** Contract: 7, Login repair. */
  it('takes a 200 for a yes only as JSON with a token and the id of a user', async () => {
    for (const body of [
      '',
      '<html>Welcome</html>',
      '{}',
      '{"token":""}',
      '{"token":7}',
      '["token"]',
      'null',
      '"token"',
      '{"token":"at home"}',
      '{"token":"at home","user":null}',
      '{"token":"at home","user":"77"}',
      '{"token":"at home","user":{}}',
      '{"token":"at home","user":{"id":null}}',
      '{"token":"","user":{"id":"77"}}',
    ]) {
      home.answer = () => ({ status: 200, body })
      const refused = await logIn(homePassword)
      expect([body, refused.status, refused.body]).to.deep.equal([body, 401, generic])
    }
    expect(identity.federation.asked).to.deep.equal([])
  })

  it('refuses a home that is not known to be the instance that it was', async () => {
    for (const outcome of ['changed', 'unverified'] as const) {
      identity.federation.epoch = { outcome }
      const { status, body } = await logIn(homePassword)
      expect([outcome, status, body]).to.deep.equal([outcome, 401, generic])
    }
    expect((await readUser(identity, user.id)).passwordHash).to.equal(testPasswordHash)

    identity.federation.epoch = { outcome: 'same' }
    expect((await logIn(homePassword)).status).to.equal(200)
  })

  it('takes the silence of a slow home for no answer, not for one of federation-fanout', async () => {
    await identity.federation.leave()
    home.meanwhile = async () => identity.clock.advance(9_900)
    const given: number[] = []
    await using _asking = await identity.deps.bus.respond(checkHomeEpoch, async ({ timeoutMs }) => {
      given.push(timeoutMs)
      await pause(timeoutMs + 50)
      return { outcome: 'unverified' as const }
    })

    const { status, body } = await logIn(homePassword)

    expect(given).to.deep.equal([100])
    expect([status, body]).to.deep.equal([401, generic])
  })

  it('asks for the epoch in what is left of the ten seconds, and not when nothing is', async () => {
    home.meanwhile = async () => identity.clock.advance(7_000)
    await logIn(homePassword)
    expect(identity.federation.asked).to.deep.equal([{ host: 'home.example', timeoutMs: 3_000 }])

    const other = await buildUser(identity, { username: 'jo@home.example', homeInstance: 'home.example' })
    home.meanwhile = async () => identity.clock.advance(10_000)
    expect((await logIn(homePassword, other.username)).status).to.equal(401)
    expect(identity.federation.asked).to.have.length(1)
  })

  it('does not ask for local users, deleted accounts and overlong passwords', async () => {
    const local = await buildUser(identity)
    const gone = await buildUser(identity, { username: '!deleted:7', homeInstance: 'home.example', isDeleted: true })

    for (const { username } of [local, gone]) expect((await logIn(homePassword, username)).status).to.equal(401)
    expect((await logIn('x'.repeat(73))).status).to.equal(401)
    expect(home.asked).to.have.length(0)
  })

  it('keeps a password change that commits meanwhile', async () => {
    home.meanwhile = async () => {
      const body = { newPassword: 'changed right here' }
      expect((await identity.call('POST', '/api/users/@me/change-password', { as: user, body })).status).to.equal(200)
    }

    const { status, body } = await logIn(homePassword)

    const { passwordHash } = await readUser(identity, user.id)
    expect([status, body]).to.deep.equal([401, generic])
    expect(await bcrypt.compare('changed right here', passwordHash)).to.equal(true)
  })

  it('keeps a deletion that commits meanwhile', async () => {
    home.meanwhile = async () =>
      await identity.deps.orm.em
        .fork()
        .execute(`update users set is_deleted = true, password_hash = '!' where id = ?`, [user.id])

    expect((await logIn(homePassword)).status).to.equal(401)
    expect((await readUser(identity, user.id)).passwordHash).to.equal('!')
  })

  it('accepts both of two logins that refresh the hash at once', async () => {
    const answers = await Promise.all([logIn(homePassword), logIn(homePassword)])

    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200])
  })
})

describe('Login 5: over the network', () => {
  it('asks an instance that the operator has connected to this one by plain http', async () => {
    const asked: unknown[] = []
    const server = createServer((request, response) => {
      asked.push([request.method, request.url, request.headers.host, request.headers['content-type']])
      request.resume().on('end', () => response.writeHead(200).end('{"token":"x","user":{"id":"1"}}'))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    await using identity = await startTestIdentity({
      config: {
        publicAddress: { origin: 'http://here.example', domain: 'here.example' },
        reach: { allowPrivate: ['127.0.0.0/8'], resolve: { 'home.example': { address: '127.0.0.1', port } } },
      },
    })
    const { username } = await buildUser(identity, { username: 'kim@home.example', homeInstance: 'home.example' })

    const answer = await identity.call('POST', '/api/auth/login', { body: { username, password: homePassword } })
    server.closeAllConnections()
    server.close()

    expect(answer.status).to.equal(200)
    expect(asked).to.deep.equal([['POST', '/api/auth/login', 'home.example', 'application/json']])
  })

  it('rejects homes whose address outbound requests may not reach, however it is spelled', async () => {
    await using identity = await startTestIdentity({ config: { reach: { allowPrivate: [], resolve: {} } } })
    const homes = ['127.0.0.1', '2130706433', '0x7f.1', 'localhost', '169.254.169.254', '..', '-', '_.', 'a..b']

    for (const homeInstance of homes) {
      const { username } = await buildUser(identity, { username: `joe@${homeInstance}`, homeInstance })
      const { status, body } = await identity.call('POST', '/api/auth/login', {
        body: { username, password: homePassword },
      })
      expect([homeInstance, status, body]).to.deep.equal([homeInstance, 401, generic])
    }
    const tried = identity.logLines.filter(({ msg }) => msg === 'home instance unreachable at login')
    expect(tried.map(({ homeInstance }) => homeInstance)).to.deep.equal(homes)
  })
})
