import { createHmac } from 'node:crypto'
import { expect } from 'chai'
import jwt from 'jsonwebtoken'
import { signToken } from '@gatehouse/auth'
import { CacheUnavailable, createMemoryCache } from '@gatehouse/authority'
import { passwordReset, profileChanged, userDeleted } from '@gatehouse/contracts'
import { buildAccountState, eventually } from '@gatehouse/test-kit'
import { startHarness, tokenKey, type Harness } from './harness.ts'
import { sendRaw } from './raw-client.ts'

const secret = 'j'.repeat(32)

describe('Bearer tokens at the gateway', () => {
  let harness: Harness
  beforeEach(async () => void (harness = await startHarness()))
  afterEach(() => harness[Symbol.asyncDispose]())

  const ask = async (authorization?: string, path = '/api/users/@me') => {
    const response = await fetch(harness.url + path, authorization === undefined ? {} : { headers: { authorization } })
    const body = (await response.json()) as { error?: string }
    return { status: response.status, error: body.error }
  }

  it('let the bearer of a valid token through, with a signed caller token', async () => {
    const token = harness.member({ username: 'ada' })

    expect(await ask(`Bearer ${token}`)).to.include({ status: 200 })

    const { headers } = harness.stub.seen[0]!
    expect(harness.callerIn(headers)).to.deep.equal({
      address: '127.0.0.1',
      account: { userId: '42', username: 'ada', isAdmin: false, tokenIssuedAt: Math.floor(harness.clock.now() / 1000) },
    })
    expect(headers).not.to.have.property('authorization')
  })

  it('are required where the contract says so; the refusal is JSON', async () => {
    expect(await ask()).to.deep.equal({ status: 401, error: 'Unauthorized' })
    expect(await ask('Basic abc')).to.deep.equal({ status: 401, error: 'Unauthorized' })
    expect(await ask('Bearer ')).to.deep.equal({ status: 401, error: 'Unauthorized' })
    expect(harness.stub.seen).to.have.length(0)
  })

  /** Contract: 3, Second factor. */
  it('of an admin who lacks the second factor that is demanded pass everywhere but on the routes of admins', async () => {
    const path = '/api/admin/users'
    const token = harness.member({ isAdmin: true, secondFactorDue: true })
    expect((await ask(`Bearer ${token}`, path)).status).to.equal(403)
    expect((await ask(`Bearer ${token}`)).status).to.equal(200)
    expect(harness.stub.seen).to.have.length(1)

    const member = harness.member({ userId: '43', secondFactorDue: true })
    expect((await ask(`Bearer ${member}`, path)).error).to.equal('Admin access required')
    const admin = harness.member({ userId: '44', isAdmin: true, secondFactorDue: false })
    expect((await ask(`Bearer ${admin}`, path)).status).to.equal(200)
  })

  it('must be signed by us with HS256: not with none, another algorithm or another key', async () => {
    harness.member()
    const claims = { userId: '42', username: 'ada', iat: 1, exp: 9_999_999_999 }
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const unsigned = `${encode({ alg: 'none', typ: 'JWT' })}.${encode(claims)}.`
    const relabelled = `${encode({ alg: 'HS512', typ: 'JWT' })}.${encode(claims)}`
    const mac = createHmac('sha256', secret).update(relabelled).digest('base64url')
    const forged = [
      unsigned,
      `${relabelled}.${mac}`,
      jwt.sign(claims, secret, { algorithm: 'HS512' }),
      jwt.sign(claims, 'x'.repeat(32)),
      jwt.sign({ ...claims, userId: { $ne: '' } }, secret),
      jwt.sign({ ...claims, userId: '42 or 1=1' }, secret),
      'a.b.c',
      'x'.repeat(5_000),
    ]

    for (const token of forged) {
      expect(await ask(`Bearer ${token}`)).to.deep.equal({ status: 401, error: 'Invalid token' })
    }
  })

  it('expire, also when they were accepted before', async () => {
    const token = harness.member()
    expect(await ask(`Bearer ${token}`)).to.include({ status: 200 })

    harness.clock.advance(3_600_000)

    expect(await ask(`Bearer ${token}`)).to.deep.equal({ status: 401, error: 'Invalid token' })
  })

  it('are refused when the account is missing or deleted, or its password has changed since', async () => {
    const now = harness.clock.now()
    const token = harness.member({ userId: '1' })
    const states = harness.stub.states
    states.clear()
    expect(await ask(`Bearer ${token}`)).to.deep.equal({ status: 401, error: 'Invalid token' })
    // Errors: non-admin on an admin route, or stored user missing: 403.
    expect(await ask(`Bearer ${token}`, '/api/admin/users')).to.include({ status: 403 })

    states.set('1', buildAccountState({ userId: '1', isDeleted: true, passwordChangedAt: now + 5_000 }))
    expect(await ask(`Bearer ${token}`)).to.deep.equal({ status: 401, error: 'This account has been deleted' })

    await harness.accountStateCache.put(buildAccountState({ userId: '1', version: 2 }))
    states.set('1', buildAccountState({ userId: '1', version: 3, passwordChangedAt: now + 1_000 }))
    harness.clock.advance(20_000)
    expect(await ask(`Bearer ${token}`)).to.deep.equal({ status: 401, error: 'Token has been revoked' })
  })

  it('stay valid when signed in the second of the change', async () => {
    const second = Math.floor(harness.clock.now() / 1000) * 1000
    harness.clock.set(second + 999)
    const token = harness.member({ passwordChangedAt: second + 999 })

    expect(await ask(`Bearer ${token}`)).to.include({ status: 200 })
  })

  it('give access to admin routes to admins only: 401 comes before 403', async () => {
    const member = harness.member({ userId: '1' })
    const admin = harness.member({ userId: '2', isAdmin: true })

    expect(await ask(undefined, '/api/admin/users')).to.include({ status: 401 })
    expect(await ask(`Bearer ${member}`, '/api/admin/users')).to.include({ status: 403 })
    expect(await ask(`Bearer ${admin}`, '/api/admin/users')).to.include({ status: 200 })
  })

  it('are answered with 503 when the account state is unavailable', async () => {
    const fail = async (): Promise<never> => {
      throw new CacheUnavailable('no connection')
    }
    const accountStateCache = { ...createMemoryCache(harness.clock), find: fail, lease: fail, fill: fail, put: fail }
    await using gateway = await startHarness({ accountStateCache })
    const token = gateway.member()
    const authorization = `Bearer ${token}`
    expect((await fetch(`${gateway.url}/api/users/@me`, { headers: { authorization } })).status).to.equal(200)

    await gateway.stub[Symbol.asyncDispose]()
    const response = await fetch(`${gateway.url}/api/users/@me`, { headers: { authorization } })

    expect(response.status).to.equal(503)
    expect(response.headers.get('retry-after')).to.equal('1')
  })

  it('are invalid once the event of a revocation has updated the cache, whichever service changed the account', async () => {
    const token = harness.member()
    expect(await ask(`Bearer ${token}`)).to.include({ status: 200 })
    const at = harness.clock.now() - 250
    const reset = buildAccountState({ version: 2, passwordChangedAt: at + 1_250 })

    const event = { userId: '42', at, actor: null, state: reset }
    await harness.bus.publish(passwordReset, event, { id: '6f2d3c1e-8f57-4a0c-9a55-0f4b6f0c4a11' })
    await eventually('the cache is updated', async () => (await harness.accountStateCache.find('42'))?.version === 2)
    expect(await ask(`Bearer ${token}`)).to.deep.equal({ status: 401, error: 'Token has been revoked' })

    const state = { ...reset, version: 3, isDeleted: true }
    const deletion = { userId: '42', at, actor: null, state, mode: 'full' as const, audience: [] }
    await harness.bus.publish(userDeleted, deletion, { id: '6f2d3c1e-8f57-4a0c-9a55-0f4b6f0c4a12' })
    await eventually('the cache is updated', async () => (await harness.accountStateCache.find('42'))?.version === 3)
    expect(await ask(`Bearer ${token}`)).to.deep.equal({ status: 401, error: 'This account has been deleted' })
    const lag = await harness.metric('gatehouse_gateway_revocation_lag_seconds_sum')
    expect(lag).to.equal(0.5)
  })

  it('carry the account as the event of another change left it, which is no revocation', async () => {
    const token = harness.member({ isAdmin: true })
    expect(await ask(`Bearer ${token}`, '/api/admin/users')).to.include({ status: 200 })

    const state = buildAccountState({ version: 2, isAdmin: false })
    const event = { userId: '42', at: harness.clock.now(), state, profileUpdatedAt: 1, changed: ['bio'] }
    await harness.bus.publish(profileChanged, event, { id: '6f2d3c1e-8f57-4a0c-9a55-0f4b6f0c4a13' })
    await eventually('the cache is updated', async () => (await harness.accountStateCache.find('42'))?.version === 2)

    expect(await ask(`Bearer ${token}`, '/api/admin/users')).to.include({ status: 403 })
    expect(await harness.metric('gatehouse_gateway_revocation_lag_seconds_count')).to.equal(0)
  })

  it('cause one account state query for concurrent requests', async () => {
    const token = harness.member()
    const statuses = await Promise.all(Array.from({ length: 40 }, () => ask(`Bearer ${token}`)))

    expect(statuses.every(({ status }) => status === 200)).to.equal(true)
    expect(harness.stub.stateQueries).to.be.at.most(2)
  })

  it('are judged although every replica was late once: the query is repeated', async () => {
    harness.stub.silentStateQueries = 1
    const { status } = await ask(`Bearer ${harness.member()}`)

    expect(status).to.equal(200)
    expect(harness.stub.stateQueries).to.equal(2)
  })

  it('are judged although the only replica closed the connection as the query arrived', async () => {
    harness.stub.brokenStateQueries = 1
    const { status } = await ask(`Bearer ${harness.member()}`)

    expect(status).to.equal(200)
    expect(harness.stub.stateQueries).to.equal(2)
  })

  it('are refused in two Authorization headers', async () => {
    const token = harness.member()
    const other = signToken(tokenKey, { userId: '43', username: 'eve' }, { expiresIn: '1h', now: harness.clock.now() })

    const answer = await sendRaw(
      harness.port,
      `GET /api/users/@me HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nAuthorization: Bearer ${other}\r\nConnection: close\r\n\r\n`,
    )

    expect(answer).to.match(/^HTTP\/1.1 400 /)
  })
})
