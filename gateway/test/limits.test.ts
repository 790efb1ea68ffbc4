import { expect } from 'chai'
import { endpoints, type Endpoint } from '@gatehouse/contracts'
import { startRedis, startRedisCluster } from '@gatehouse/test-kit'
import { startHarness, type Harness } from './harness.ts'

const loopback = { trustProxy: 'loopback' }
const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })
const limitsOf = (response: Response) => ['limit', 'remaining'].map((name) => response.headers.get(`ratelimit-${name}`))

/** Checks when the window of a limit ends, and gives it: it began at the earliest at `since`, by `performance.now()`. */
function expectReset(response: Response, windowSeconds: number, since: number): number {
  const reset = Number(response.headers.get('ratelimit-reset'))
  // One millisecond more: the limits count in whole ones.
  const elapsedSeconds = (performance.now() - since + 1) / 1_000
  expect(reset).to.be.within(Math.ceil(windowSeconds - elapsedSeconds), windowSeconds)
  return reset
}

/** The specification's table and what the contract adds. */
const table: [string, string, number, number][] = [
  ['POST', '/api/auth/register', 10, 120],
  ['GET', '/api/auth/check-username', 30, 60],
  ['GET', '/api/auth/check-invite', 30, 60],
  ['POST', '/api/auth/registration', 30, 60],
  ['GET', '/api/auth/challenge', 300, 60],
  ['POST', '/api/auth/login', 15, 120],
  ['POST', '/api/auth/recover', 15, 120],
  ['POST', '/api/auth/recover/request', 15, 120],
  ['POST', '/api/auth/email/confirm', 30, 60],
  ['PUT', '/api/users/@me/email', 15, 120],
  ['DELETE', '/api/users/@me/email', 15, 120],
  ['POST', '/api/users/@me/verify-password', 15, 120],
  ['POST', '/api/users/@me/second-factor', 15, 120],
  ['POST', '/api/users/@me/second-factor/confirm', 15, 120],
  ['POST', '/api/users/@me/second-factor/recovery-codes', 15, 120],
  ['DELETE', '/api/users/@me/second-factor', 15, 120],
  ['POST', '/api/auth/passkey/options', 300, 60],
  ['POST', '/api/auth/passkey', 15, 120],
  ['POST', '/api/users/@me/passkeys/options', 15, 120],
  ['POST', '/api/users/@me/passkeys', 15, 120],
  ['DELETE', '/api/users/@me/passkeys/:id', 15, 120],
  ['POST', '/api/users/@me/change-password', 5, 900],
  ['POST', '/api/users/@me/sessions/end', 5, 900],
  ['DELETE', '/api/users/@me', 3, 900],
  ['POST', '/api/users/@me/federation-identity/delete', 5, 900],
  ['POST', '/api/auth/attach-proof', 5, 900],
  ['POST', '/api/users/@me/reattach', 5, 900],
  ['GET', '/api/auth/providers', 300, 60],
  ['POST', '/api/auth/providers/:provider/start', 30, 60],
  ['GET', '/api/auth/providers/:provider/callback', 30, 60],
  ['POST', '/api/auth/providers/finish', 15, 120],
  ['DELETE', '/api/users/@me/identities/:id', 15, 120],
  ['POST', '/api/auth/providers/:provider/back-channel-logout', 300, 60],
  ['POST', '/oauth2/device-code', 15, 120],
  ['POST', '/oauth2/device-code/decision', 15, 120],
  ['POST', '/api/federation/peer/accept', 10, 60],
]

describe('Limits', () => {
  describe('of one gateway', () => {
    let harness: Harness
    beforeEach(async () => void (harness = await startHarness({ config: loopback })))
    afterEach(() => harness[Symbol.asyncDispose]())

    for (const [method, path, requests, windowSeconds] of table) {
      it(`are ${requests} in ${windowSeconds} s for ${method} ${path}, before any other check`, async () => {
        const ask = () => fetch(harness.url + path, { method, ...from('203.0.113.7') })
        const since = performance.now()
        for (let count = 1; count <= requests; count += 1) {
          const response = await ask()
          expect(response.status).not.to.equal(429)
          expect(limitsOf(response)).to.deep.equal([String(requests), String(requests - count)])
          expectReset(response, windowSeconds, since)
        }

        const refused = await ask()

        expect(refused.status).to.equal(429)
        expect(limitsOf(refused)).to.deep.equal([String(requests), '0'])
        const retryAfter = expectReset(refused, windowSeconds, since)
        expect(refused.headers.get('retry-after')).to.equal(String(retryAfter))
        expect(await refused.json()).to.deep.equal({
          statusCode: 429,
          error: 'Too Many Requests',
          message: 'Rate limit exceeded',
          retryAfter,
        })
      })
    }

    it('count requests that are refused for their query too', async () => {
      const path = '/api/auth/check-username?username=%FF'
      const statuses: number[] = []
      for (let count = 1; count <= 31; count += 1) statuses.push((await fetch(harness.url + path)).status)

      expect(statuses).to.deep.equal([...Array<number>(30).fill(400), 429])
    })

    it('apply to no other route', () => {
      const limited = Object.values(endpoints as Record<string, Endpoint>).filter(({ limit }) => limit && !limit.by)

      expect(limited.map(({ method, path }) => `${method} ${path}`)).to.have.members(
        table.map(([method, path]) => `${method} ${path}`),
      )
    })

    it('of uploads are 30 in an hour for each account, whatever its address', async () => {
      const upload = (token: string, address: string) => {
        const { headers } = from(address)
        const body = new FormData()
        body.set('file', new File(['x'], 'x.png'))
        return fetch(`${harness.url}/api/uploads`, {
          method: 'POST',
          headers: { ...headers, authorization: `Bearer ${token}` },
          body,
        })
      }
      const [one, other] = [harness.member({ userId: '1' }), harness.member({ userId: '2' })]
      const since = performance.now()
      for (let count = 1; count <= 30; count += 1) {
        const response = await upload(one, `203.0.113.${count}`)
        await response.text()
        expect([response.status, ...limitsOf(response)]).to.deep.equal([200, '30', String(30 - count)])
        expectReset(response, 3_600, since)
      }

      const refused = await upload(one, '198.51.100.1')

      expect(refused.status).to.equal(429)
      const retryAfter = expectReset(refused, 3_600, since)
      expect(await refused.json()).to.include({ message: 'Rate limit exceeded', retryAfter })
      expect((await upload(other, '198.51.100.1')).status).to.equal(200)
    })

    for (const [name, method, path] of [
      ['profile', 'PATCH', '/api/users/@me'],
      ['registry', 'PUT', '/api/users/@me/federation-registry'],
    ] as const) {
      /** Contract: 3, Writes of one's own. */
      it(`of writes to the own ${name} are 60 a minute for each account, whatever its address`, async () => {
        const write = async (token: string, address: string) => {
          const { headers } = from(address)
          return (
            await fetch(harness.url + path, { method, headers: { ...headers, authorization: `Bearer ${token}` } })
          ).status
        }
        const [one, other] = [harness.member({ userId: '1' }), harness.member({ userId: '2' })]
        const statuses: number[] = []
        for (let count = 1; count <= 61; count += 1) statuses.push(await write(one, `203.0.113.${count}`))

        expect(statuses).to.deep.equal([...Array<number>(60).fill(200), 429])
        expect(await write(other, '203.0.113.1')).to.equal(200)
      })
    }

    /** Contract: 3, Export. */
    it('of exports are two a day for each account, whatever its address', async () => {
      const ask = (token: string, address: string) => {
        const { headers } = from(address)
        const init = { method: 'POST', headers: { ...headers, authorization: `Bearer ${token}` }, body: '{}' }
        return fetch(`${harness.url}/api/users/@me/export`, init)
      }
      const [one, other] = [harness.member({ userId: '3' }), harness.member({ userId: '4' })]
      const statuses = []
      for (const address of ['203.0.113.1', '203.0.113.2', '198.51.100.1']) {
        statuses.push((await ask(one, address)).status)
      }

      expect(statuses).to.deep.equal([200, 200, 429])
      const since = performance.now()
      const response = await ask(other, '203.0.113.1')
      expect(limitsOf(response)).to.deep.equal(['2', '1'])
      expectReset(response, 86_400, since)
    })

    /** Contract: 3, Client networks. */
    it('count by IPv4 address and by /64 of IPv6', async () => {
      const ask = async (address: string) =>
        limitsOf(await fetch(`${harness.url}/api/auth/login`, { method: 'POST', ...from(address) }))[1]

      expect(await ask('203.0.113.7')).to.equal('14')
      expect(await ask('203.0.113.8')).to.equal('14')
      expect(await ask('2001:db8::1')).to.equal('14')
      expect(await ask('2001:db8::ffff:2')).to.equal('13')
      expect(await ask('2001:db8:0:1::1')).to.equal('14')
    })

    it('are not bypassed by another spelling of the path, HEAD, or a query', async () => {
      const spellings = ['/api/auth/check-username', '/api/auth/check%2Dusername', '/%61pi/auth/check-username?x=1']
      const remaining: unknown[] = []
      for (const path of spellings) remaining.push(limitsOf(await fetch(harness.url + path, from('203.0.113.9')))[1])
      remaining.push(limitsOf(await fetch(harness.url + spellings[0]!, { method: 'HEAD', ...from('203.0.113.9') }))[1])

      expect(remaining).to.deep.equal(['29', '28', '27', '26'])
    })

    it('do not count preflights', async () => {
      const headers = { 'access-control-request-method': 'POST', origin: 'https://elsewhere.example' }
      for (let count = 0; count < 20; count += 1) {
        await fetch(`${harness.url}/api/auth/login`, { method: 'OPTIONS', headers })
      }
      const response = await fetch(`${harness.url}/api/auth/login`, { method: 'POST' })

      expect(limitsOf(response)[1]).to.equal('14')
    })
  })

  it('are shared by all gateways, and continue from their present state while Redis is unavailable', async () => {
    await using redis = await startRedis()
    await using one = await startHarness({ config: { ...loopback, redis: { url: redis.url } } })
    await using two = await startHarness({ config: { ...loopback, redis: { url: redis.url } } })
    const ask = async ({ url }: Harness) =>
      await fetch(`${url}/api/users/@me`, { method: 'DELETE', ...from('203.0.113.7') })
    const first = limitsOf(await ask(one))
    const second = limitsOf(await ask(two))
    expect([first[1], second[1]]).to.deep.equal(['2', '1'])
    const countedLocally = 'gatehouse_gateway_limits_counted_locally_total{limit="deleteSelf"}'
    expect(await one.metric(countedLocally)).to.equal(0)

    await redis.kill()
    const away = [(await ask(one)).status, (await ask(one)).status, (await ask(one)).status]

    expect(away).to.deep.equal([401, 401, 429])
    expect(await one.metric(countedLocally)).to.equal(3)
  })

  /** Contract: 8, Several Redis servers. */
  it('are shared by all gateways of a Redis cluster, whichever primary counts them', async () => {
    await using cluster = await startRedisCluster({ primaries: 2, replicated: false })
    await using one = await startHarness({ config: { ...loopback, redis: { url: cluster.url } } })
    await using two = await startHarness({ config: { ...loopback, redis: { url: cluster.url } } })
    const ask = async ({ url }: Harness, address: string) =>
      limitsOf(await fetch(`${url}/api/users/@me`, { method: 'DELETE', ...from(address) }))[1]

    for (let host = 1; host <= 10; host += 1) {
      const address = `203.0.113.${host}`
      expect([await ask(one, address), await ask(two, address)]).to.deep.equal(['2', '1'])
    }
    for (const { redis } of cluster.primaries) expect(await redis.dbsize()).to.be.greaterThan(0)
  })

  it('hold while Redis hangs, and do not delay requests for long', async () => {
    await using redis = await startRedis()
    await using harness = await startHarness({ config: { ...loopback, redis: { url: redis.url } } })
    const ask = () => fetch(`${harness.url}/api/users/@me`, { method: 'DELETE', ...from('203.0.113.7') })
    await ask()
    redis.pause()
    const statuses = [(await ask()).status, (await ask()).status, (await ask()).status]
    redis.resume()

    expect(statuses).to.deep.equal([401, 401, 429])
  })
})
