import { callerHeader, createSigningKeys, signCaller } from '@gatehouse/auth'
import { answered, signTestCaller } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { requireAdmin, callerOf, requireUser } from '../src/index.ts'
import { exchange, startServiceHarness, type ServiceHarness } from './harness.ts'

const account = { userId: '1', username: 'ada', isAdmin: false, tokenIssuedAt: 1_700_000_000 }

describe('A service', () => {
  let service: ServiceHarness
  const readiness = { required: { postgres: () => true }, optional: { nats: async (): Promise<boolean> => true } }

  beforeEach(async () => {
    service = await startServiceHarness((router) => {
      router.get('/who', (ctx) => void (ctx.body = callerOf(ctx)))
      router.get('/member', (ctx) => void (ctx.body = requireUser(ctx)))
      router.get('/admin', (ctx) => void (ctx.body = requireAdmin(ctx)))
      router.get('/things/:id', (ctx) => void (ctx.body = { id: ctx.params.id }))
      router.get('/fault', () => {
        throw new Error('select secret_column from users')
      })
    }, readiness)
  })
  afterEach(async () => await service[Symbol.asyncDispose]())

  it('takes the caller from the caller token', async () => {
    const caller = { address: '203.0.113.9', account }

    expect((await service.send('GET', '/who', { caller })).body).to.deep.equal(caller)
  })

  it('refuses requests without a caller token, or with a forged, altered or expired one, or that of another service', async () => {
    const caller = { address: '127.0.0.1', account: { ...account, isAdmin: true } }
    const now = service.clock.now()
    const signed = signTestCaller('invite', caller, now)
    const [header, claims, signature] = signed.split('.') as [string, string, string]
    const altered = Buffer.from(claims, 'base64url').toString().replace('"1"', '"2"')
    const other = createSigningKeys('gateway', 'another secret, just as long as the first')
    const forged = signCaller(other, caller, { issuer: 'https://here.example', audience: 'invite', now })
    const tokens = [
      undefined,
      '',
      'x',
      '.',
      header,
      `${header}.${claims}`,
      `${header}.${claims}.`,
      `${header}.${Buffer.from(altered).toString('base64url')}.${signature}`,
      `${header}.${claims}.${signature}.`,
      forged,
      // Two clocks may differ by 90 s.
      signTestCaller('invite', caller, now - 121_000),
      signTestCaller('identity', caller, now),
    ]
    const replies = await Promise.all(
      tokens.map((text) =>
        exchange(`${service.url}/who`, { headers: text === undefined ? {} : { [callerHeader]: text } }),
      ),
    )

    expect(replies.map(({ status }) => status)).to.deep.equal(tokens.map(() => 403))
  })

  it('answers 401 to an anonymous caller and 403 to one that is no admin', async () => {
    const member = { caller: { address: '127.0.0.1', account } }
    const admin = { caller: { address: '127.0.0.1', account: { ...account, isAdmin: true } } }

    expect((await service.send('GET', '/member')).body).to.deep.equal({
      error: 'Unauthorized',
      statusCode: 401,
      code: 'unauthorized',
    })
    expect((await service.send('GET', '/admin', member)).body).to.deep.equal({
      error: 'Admin access required',
      code: 'admin_required',
      statusCode: 403,
    })
    expect((await service.send('GET', '/admin', admin)).body).to.include({ username: 'ada' })
  })

  /** Contract: 1, Errors. */
  it('adopts a valid request id, generates one otherwise, and logs it', async () => {
    const idOf = async (id: string) => {
      return (await service.send('GET', '/fault', { headers: { 'x-request-id': id } })).headers['x-request-id']
    }
    const longest = 'a'.repeat(128)

    expect(await idOf('Ab9._-')).to.equal('Ab9._-')
    expect(await idOf(longest)).to.equal(longest)
    for (const bad of [`${longest}a`, 'a b', 'ä', '"x"', '']) expect(await idOf(bad)).to.match(/^[0-9a-f-]{36}$/)
    expect(service.lines.map(({ requestId }) => requestId)).to.include('Ab9._-')
  })

  it('writes a line for each request by its route, beyond a rate for one in a hundred, and for every fault', async () => {
    const linesOf = (level: number, id: string) =>
      service.lines.filter((line) => line['msg'] === 'request' && line['level'] === level && line['requestId'] === id)
    const ask = async (path: string, requestId: string, times: number, expected: number) => {
      for (let sent = 0; sent < times; sent += 1) {
        expect((await service.send('GET', path, { headers: { 'x-request-id': requestId } })).status).to.equal(expected)
      }
    }

    service.clock.advance(60_000)
    await ask('/admin', 'first', 1, 401)
    await ask('/admin', 'many', 199, 401)
    await ask('/fault', 'faulty', 2, 500)
    await ask('/healthz', 'probe', 1, 200)
    service.clock.advance(1_000)
    await ask('/admin', 'later', 1, 401)

    expect(linesOf(30, 'first')).to.have.length(1)
    expect(linesOf(30, 'first')[0]).to.include({ method: 'GET', route: '/admin', status: 401 })
    expect(linesOf(30, 'many')).to.have.length(100)
    expect(linesOf(30, 'faulty')).to.have.length(2)
    expect(linesOf(30, 'probe')).to.deep.equal([])
    expect(linesOf(30, 'later')).to.have.length(1)
  })

  it('answers a fault with 500 and no detail, and logs it once', async () => {
    const reply = await service.send('GET', '/fault')

    expect(reply.status).to.equal(500)
    expect(reply.body).to.deep.equal({ error: 'Internal server error', statusCode: 500, code: 'internal' })
    expect(service.lines.filter(({ msg }) => msg === 'request failed')).to.have.length(1)
  })

  it('answers in JSON where a route or method does not exist', async () => {
    const unknown = await service.send('GET', '/nowhere')
    const wrongMethod = await service.send('POST', '/who')
    const unknownMethod = await service.send('PROPFIND', '/who')

    expect(unknown.body).to.deep.equal({ error: 'Not found', statusCode: 404, code: 'not_found' })
    expect(wrongMethod.body).to.deep.equal({ error: 'Method not allowed', statusCode: 405, code: 'method_not_allowed' })
    expect(wrongMethod.headers.allow).to.equal('HEAD, GET')
    expect(unknownMethod.body).to.include({ statusCode: 405 })
  })

  it('answers a path with a broken escape without a fault', async () => {
    expect((await service.send('GET', '/things/%ZZ')).status).to.be.oneOf([200, 400, 404])
    expect((await service.send('GET', '/%')).status).to.be.oneOf([400, 404])
  })

  /** Contract: 8, Ports. */
  it('serves health, readiness and metrics without a caller token', async () => {
    await answered(service.send('GET', '/who'))
    const [health, ready, metrics] = await Promise.all(
      ['/healthz', '/readyz', '/metrics'].map((path) => exchange(service.url + path)),
    )

    expect(health!.body).to.deep.equal({ status: 'ok' })
    expect(ready!.body).to.deep.equal({ ready: true, draining: false })
    expect(metrics!.text).to.include('gatehouse_http_request_seconds_count{service="test",route="/who",status="200"} 1')
  })

  it('is ready with Redis or NATS away, not without PostgreSQL or while draining, and names each dependency', async () => {
    const optional = { redis: () => false, nats: () => Promise.reject(new Error('away')) }
    await using working = await startServiceHarness(() => undefined, { required: { postgres: () => true }, optional })
    await using broken = await startServiceHarness(() => undefined, { required: { postgres: () => false } })
    service.drain()
    const readyz = async ({ url }: ServiceHarness) => await exchange(`${url}/readyz`)
    const verbose = await exchange(`${working.url}/readyz?verbose`)
    const metrics = await exchange(`${working.url}/metrics`)

    expect(
      [await readyz(working), await readyz(broken), await readyz(service)].map(({ status }) => status),
    ).to.deep.equal([200, 503, 503])
    expect(verbose.body.dependencies).to.deep.equal({ postgres: true, redis: false, nats: false })
    expect((await readyz(service)).body).to.include({ draining: true })
    for (const series of ['postgres"} 1', 'redis"} 0', 'nats"} 0']) {
      expect(metrics.text).to.include(`gatehouse_dependency_up{dependency="${series}`)
    }
  })
})
