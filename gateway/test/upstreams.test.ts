import { execFile } from 'node:child_process'
import { createHash, createHmac, createPublicKey, generateKeyPairSync, sign, verify, type KeyObject } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { buildAccountState, eventually } from '@gatehouse/test-kit'
import { createCallerVerifier, InvalidCaller, KeysUnavailable, type CallerVerifier } from '@gatehouse/upstream'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Seen, StubService } from './stub-service.ts'
import { startHarness, type Harness } from './harness.ts'
import { startStub } from './stub-service.ts'
import { createUpstreamRoutes } from '../src/upstreams/open-upstreams.ts'

const issuer = 'https://home.example'
type Jwk = { kty: string; crv: string; x: string; kid: string; d?: string }

describe('Upstreams', () => {
  let folder: string
  let harness: Harness
  let chat: StubService
  let voice: StubService
  let verifier: CallerVerifier

  const file = () => join(folder, 'upstreams.yaml')
  const writeUpstreams = (voiceRoutes: object[], voiceOrigin = voice.url) =>
    writeFile(
      file(),
      JSON.stringify({
        upstreams: [
          {
            name: 'chat',
            origins: [chat.url],
            routes: [
              { prefix: '/api/spaces', access: 'user' },
              { prefix: '/api/spaces/admin', access: 'admin' },
              { prefix: '/api/open', access: 'anyone', bodyBytes: 100 },
              { prefix: '/api/files', access: 'anyone', bodyBytes: 1_000_000 },
              { prefix: '/api/rare', access: 'user', limit: { requests: 2, seconds: 60 } },
              { prefix: '/api/rare-open', access: 'anyone', limit: { requests: 1, seconds: 60 } },
            ],
          },
          { name: 'voice', origins: [voiceOrigin], routes: voiceRoutes },
        ],
      }),
    )

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-gateway-upstreams-'))
    chat = await startStub()
    voice = await startStub()
    await writeUpstreams([{ prefix: '/api/voice', access: 'anyone', timeoutMs: 30_000 }])
    harness = await startHarness({
      config: { upstreamsFile: file(), previousInternalSecrets: ['o'.repeat(32)] },
      capacity: { connectionsPerReplica: 2, bufferedBytesPerNetwork: 200_000 },
      timeouts: { queueMs: 50 },
    })
    verifier = createCallerVerifier({
      name: 'chat',
      origin: issuer,
      keysUrl: `${harness.url}/api/upstream-keys`,
      now: () => new Date(harness.clock.now()),
    })
  })
  beforeEach(() => {
    chat.seen.length = 0
    voice.seen.length = 0
  })
  after(async () => {
    await harness[Symbol.asyncDispose]()
    await chat[Symbol.asyncDispose]()
    await voice[Symbol.asyncDispose]()
    await rm(folder, { recursive: true })
  })

  const call = (path: string, { token, ...init }: RequestInit & { token?: string } = {}) =>
    fetch(`${harness.url}${path}`, {
      ...init,
      headers: { ...(token && { authorization: `Bearer ${token}` }), ...(init.headers as object) },
    })
  const statusOf = async (path: string, init: RequestInit & { token?: string } = {}): Promise<number> => {
    const response = await call(path, init)
    await response.arrayBuffer()
    return response.status
  }
  const statementIn = ({ headers }: Seen): string => String(headers['x-gatehouse-caller'])
  const keySet = async () => (await (await fetch(`${harness.url}/api/upstream-keys`)).json()) as { keys: Jwk[] }

  it('are told the caller in a statement that the package and node:crypto alone verify', async () => {
    const token = harness.member({ userId: '7', username: 'ada', isAdmin: true })
    const response = await call('/api/spaces/1?tab=2', { token })
    const statement = statementIn(chat.seen[0]!)

    expect(response.status).to.equal(200)
    expect(chat.seen[0]!.url).to.equal('/api/spaces/1?tab=2')
    expect(await verifier.verify(chat.seen[0]!.headers)).to.deep.equal({
      address: '127.0.0.1',
      user: { userId: '7', username: 'ada', isAdmin: true },
    })
    const [header = '', claims = '', signature = ''] = statement.split('.')
    const { alg, typ, kid } = JSON.parse(decode(header)) as Record<string, string>
    const jwk = (await keySet()).keys.find((key) => key.kid === kid)!
    const key = createPublicKey({ key: jwk, format: 'jwk' })
    expect([alg, typ]).to.deep.equal(['EdDSA', 'JWT'])
    expect(verify(null, Buffer.from(`${header}.${claims}`), key, Buffer.from(signature, 'base64url'))).to.equal(true)
    const thumbprint = createHash('sha256').update(`{"crv":"Ed25519","kty":"OKP","x":"${jwk.x}"}`).digest('base64url')
    expect(kid).to.equal(thumbprint)
    const iat = Math.floor(harness.clock.now() / 1000)
    expect(JSON.parse(decode(claims))).to.deep.equal({
      iss: issuer,
      aud: 'chat',
      iat,
      exp: iat + 30,
      address: '127.0.0.1',
      sub: '7',
      username: 'ada',
      admin: true,
    })
  })

  it('find the public halves of the keys, also of a previous secret, and never a private one', async () => {
    const response = await fetch(`${harness.url}/api/upstream-keys`)
    const { keys } = (await response.json()) as { keys: Jwk[] }

    expect(response.headers.get('cache-control')).to.equal('public, max-age=300')
    expect(keys).to.have.length(2)
    for (const key of keys) expect(Object.keys(key)).to.have.members(['kty', 'crv', 'x', 'kid', 'alg', 'use'])
  })

  it('cannot make a statement, nor use one of another upstream, nor one that is 30 s old', async () => {
    const token = harness.member({ userId: '8', username: 'eve' })
    await statusOf('/api/spaces/1', { token })
    await statusOf('/api/voice/1', { token })
    const [genuine, foreign] = [statementIn(chat.seen[0]!), statementIn(voice.seen[0]!)]
    const [jwk] = (await keySet()).keys
    const publicKey = createPublicKey({ key: jwk!, format: 'jwk' })
    const [header = '', claims = '', signature = ''] = genuine.split('.')
    const admin = encode({ ...(JSON.parse(decode(claims)) as object), admin: true })
    const own = generateKeyPairSync('ed25519').privateKey

    const forged = [
      `${encode({ alg: 'none', typ: 'JWT' })}.${admin}.`,
      ...[publicKey.export({ format: 'pem', type: 'spki' }), Buffer.from(jwk!.x, 'base64url'), JSON.stringify(jwk)].map(
        (secret) => signHmac(`${encode({ alg: 'HS256', typ: 'JWT', kid: jwk!.kid })}.${admin}`, secret),
      ),
      signEd25519(`${header}.${admin}`, own),
      signEd25519(`${encode({ alg: 'EdDSA', typ: 'JWT', jwk: own })}.${admin}`, own),
      `${header}.${admin}.${signature}`,
      foreign,
      'no statement',
      '',
    ]
    for (const statement of forged) {
      expect(await verifier.verify(statement).catch((error: unknown) => error)).to.be.instanceOf(InvalidCaller)
    }
    const late = createCallerVerifier({
      name: 'chat',
      origin: issuer,
      keysUrl: `${harness.url}/api/upstream-keys`,
      clockToleranceSeconds: 0,
      now: () => new Date(harness.clock.now() + 31_000),
    })
    expect(await verifier.verify(genuine)).to.have.nested.property('user.userId', '8')
    expect(await late.verify(genuine).catch((error: unknown) => error)).to.be.instanceOf(InvalidCaller)
    const unreachable = createCallerVerifier({ name: 'chat', keysUrl: `${harness.url}/api/nothing` })
    expect(await unreachable.verify(genuine).catch((error: unknown) => error)).to.be.instanceOf(KeysUnavailable)
  })

  it('get the caller verified by examples/upstream/verify-caller.sh, which needs no library', async () => {
    const script = join(import.meta.dirname, '../../examples/upstream/verify-caller.sh')
    const keys = join(folder, 'keys.json')
    await writeFile(keys, JSON.stringify(await keySet()))
    const run = (statement: string, name = 'chat') =>
      new Promise<{ failed: boolean; output: string }>((resolve) => {
        const child = execFile('sh', [script, name, issuer, keys], (error, stdout, stderr) =>
          resolve({ failed: error !== null, output: stdout || stderr.trim() }),
        )
        child.stdin!.end(statement)
      })
    await statusOf('/api/spaces/1', { token: harness.member({ userId: '9', username: 'bob' }) })
    const statement = statementIn(chat.seen[0]!)
    const [header, claims = '', signature] = statement.split('.')
    const admin = encode({ ...(JSON.parse(decode(claims)) as object), admin: true })

    const { failed, output } = await run(statement)

    expect(failed, output).to.equal(false)
    expect(JSON.parse(output)).to.include({ sub: '9', username: 'bob', admin: false, aud: 'chat' })
    expect(await run(`${header}.${admin}.${signature}`)).to.deep.equal({ failed: true, output: 'a wrong signature' })
    expect(await run(statement, 'voice')).to.deep.equal({ failed: true, output: 'for another upstream' })
  })

  it('never get Authorization, Cookie or X-Gatehouse-*; the request id they do', async () => {
    const token = harness.member({ userId: '10' })
    const forged = {
      'x-gatehouse-caller': 'me',
      x_gatehouse_caller: 'me',
      'x-gatehouse-other': 'me',
      x_request_id: 'me',
    }
    const sent = {
      ...forged,
      cookie: 'a=b',
      'x-forwarded-for': '10.0.0.1',
      forwarded: 'for=10.0.0.1',
      'x-original-url': '/a',
    }
    await statusOf('/api/spaces/1', { token, headers: { ...sent, 'x-request-id': 'my-id', 'x-own': 'kept' } })
    const { headers } = chat.seen[0]!

    expect(headers).to.include({ 'x-request-id': 'my-id', 'x-own': 'kept' })
    expect(headers).to.not.have.any.keys('authorization', 'cookie', 'forwarded', 'x-forwarded-for', 'x-original-url')
    expect(headers).to.not.have.property('x-gatehouse-other')
    expect(Object.keys(headers).filter((name) => name.includes('_'))).to.deep.equal([])
    expect(statementIn(chat.seen[0]!)).to.match(/^ey/)
  })

  it('set no cookie and speak for no origin; what they do not say about caching is no-store', async () => {
    const { behave } = chat
    chat.behave = (_request, response) => {
      response.writeHead(201, {
        'set-cookie': 'a=b',
        'access-control-allow-origin': 'https://evil.example',
        'clear-site-data': '"*"',
        nel: '{}',
        'report-to': '{}',
        'x-accel-redirect': '/secret',
        'x-own': 'kept',
        connection: 'x-hop',
        'x-hop': 'dropped',
      })
      response.end('{}')
    }
    const response = await call('/api/open/1')
    chat.behave = behave

    expect(response.status).to.equal(201)
    expect(Object.fromEntries(response.headers)).to.include({
      'x-own': 'kept',
      'cache-control': 'no-store',
      'access-control-allow-origin': '*',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    })
    for (const name of ['set-cookie', 'clear-site-data', 'nel', 'report-to', 'x-accel-redirect', 'x-hop'])
      expect(response.headers.has(name)).to.equal(false)
  })

  it('are reached by anyone, by users or by admins, as the longest prefix says', async () => {
    const user = harness.member({ userId: '11' })
    const admin = harness.member({ userId: '12', isAdmin: true })

    expect(await statusOf('/api/open')).to.equal(200)
    expect(await verifier.verify(chat.seen[0]!.headers)).to.deep.equal({ address: '127.0.0.1', user: null })
    expect(await statusOf('/api/open', { token: user })).to.equal(200)
    expect((await verifier.verify(chat.seen[1]!.headers)).user).to.include({ userId: '11', isAdmin: false })
    expect(await statusOf('/api/open', { token: 'invalid' })).to.equal(401)
    expect(await statusOf('/api/spaces')).to.equal(401)
    expect(await statusOf('/api/spaces', { token: user })).to.equal(200)
    for (const path of ['/api/spaces/admin', '/api/spaces/Admin/x', '/API/spaces/admin', '/api/spaces/%61dmin/']) {
      expect(await statusOf(path, { token: user }), path).to.equal(path.startsWith('/API') ? 404 : 403)
    }
    expect(await statusOf('/api/spaces/admin', { token: admin })).to.equal(200)
    expect(chat.seen).to.have.length(4)
  })

  it('never see a request with a revoked token, from the moment of the revocation', async () => {
    const token = harness.member({ userId: '13' })
    expect(await statusOf('/api/spaces/1', { token })).to.equal(200)
    const revoked = { userId: '13', version: 2, passwordChangedAt: harness.clock.now() + 1_000 }
    await harness.accountStateCache.put(buildAccountState(revoked))

    expect(await statusOf('/api/spaces/1', { token })).to.equal(401)
    expect(await statusOf('/api/open', { token })).to.equal(401)
    expect(chat.seen).to.have.length(1)
  })

  it('get bodies up to the limit of the route; larger ones are 413, declared or not', async () => {
    const post = (path: string, size: number, isStreamed = false) => {
      const stream = () => new Blob([Buffer.alloc(size, 'a')]).stream()
      const init = isStreamed ? { body: stream(), duplex: 'half' } : { body: 'a'.repeat(size) }
      return statusOf(path, { method: 'POST', ...init }).catch(() => 'closed')
    }

    expect(await post('/api/open', 100)).to.equal(200)
    expect(chat.seen[0]!.body).to.have.length(100)
    expect(await post('/api/open', 101)).to.equal(413)
    expect(await post('/api/open', 101, true)).to.be.oneOf([413, 'closed'])
    expect(await post('/api/files', 200_000)).to.equal(200)
    // More than one client network may have the gateway hold at a time.
    expect(await post('/api/files', 300_000)).to.equal(503)
    expect(await post('/api/files', 200_000)).to.equal(200)
    expect(chat.seen).to.have.length(3)
  })

  /** Contract: 1, Rate limits. */
  it('are limited by account, and for anyone by address: 429 with Retry-After', async () => {
    const [one, other] = [harness.member({ userId: '14' }), harness.member({ userId: '15' })]
    const statuses = []
    for (const token of [one, one, one, other]) statuses.push(await statusOf('/api/rare', { token }))
    const openStatuses = []
    for (const token of [one, other]) openStatuses.push(await statusOf('/api/rare-open', { token }))
    const refused = await call('/api/rare', { token: one })

    expect(statuses).to.deep.equal([200, 200, 429, 200])
    expect(openStatuses).to.deep.equal([200, 429])
    expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60)
    expect(await refused.json()).to.include({ statusCode: 429, message: 'Rate limit exceeded' })
  })

  it('get no path that services read differently: 400 for encoded slashes, dot and empty segments', async () => {
    for (const path of [
      '/api/spaces/%2e%2e/x',
      '/api/open/..',
      '/api/open/./x',
      '/api/spaces//admin',
      '/api/open/a%2Fb',
    ]) {
      expect(await rawStatus(harness.port, path), path).to.equal(400)
    }
    expect(await rawStatus(harness.port, '/api/open/..%5cx')).to.equal(400)
    expect(await rawStatus(harness.port, '/api/open/..\\x')).to.equal(400)
    expect(await rawStatus(harness.port, '/api/opened')).to.equal(404)
    expect(await rawStatus(harness.port, '/api/open/a;b=%7e')).to.equal(200)
    expect(chat.seen.map(({ url }) => url)).to.deep.equal(['/api/open/a%3Bb%3D~'])
  })

  it('match whole segments of a path in whatever way it is written', () => {
    const word = fc.stringMatching(/^[a-zA-Z0-9_~@-]{1,5}$/)
    const spelled = (path: string, encoded: readonly boolean[]) =>
      [...path].map((sign, index) => (encoded[index] && sign !== '/' ? encodeByte(sign) : sign)).join('')
    const cases = fc.record({
      prefix: fc.array(word, { minLength: 1, maxLength: 3 }).map((segments) => `/api/${segments.join('/')}`),
      rest: fc.array(word, { maxLength: 2 }).map((segments) => segments.map((segment) => `/${segment}`).join('')),
      encoded: fc.array(fc.boolean(), { maxLength: 30 }),
      upper: fc.boolean(),
      suffix: word,
    })

    fc.assert(
      fc.property(cases, ({ prefix, rest, encoded, upper, suffix }) => {
        const route = { prefix, access: 'user', bodyBytes: 1, limit: { requests: 1, seconds: 1 } } as const
        const upstream = { name: 'a', origins: [], routes: [route], messages: [], ready: [], events: [], answers: [] }
        const findRoute = createUpstreamRoutes([upstream], (_, { prefix: found }) => ({ route: found }) as never)
        const below = `/api${spelled((upper ? prefix.toUpperCase() : prefix).slice(4) + rest, encoded)}`

        expect(findRoute('GET', below)).to.have.nested.property('target.route', prefix)
        expect(findRoute('GET', `${prefix}${suffix}${rest}`)).to.equal(undefined)
        expect(() => findRoute('GET', `${prefix}/../x`)).to.throw()
      }),
      { seed: 18, numRuns: 300 },
    )
  })

  it('set no header that speaks for the whole origin, and no length of a body that there is not', async () => {
    const { behave } = chat
    const ofOrigin = ['www-authenticate', 'speculation-rules', 'reporting-endpoints', 'x-lighttpd-send-file']
    const headers = Object.fromEntries([...ofOrigin, 'x-gatehouse-caller', 'x-own'].map((name) => [name, 'a']))
    chat.behave = (_request, response) => response.writeHead(204, { ...headers, 'Content-Length': '2' }).end()
    const token = harness.member({ userId: '21', username: 'uma' })
    const response = await call('/api/spaces/1', { token })
    chat.behave = behave

    expect([response.status, response.headers.get('x-own')]).to.deep.equal([204, 'a'])
    const left = [...ofOrigin, 'x-gatehouse-caller', 'content-length'].filter((name) => response.headers.has(name))
    expect(left).to.deep.equal([])
  })

  it('answer preflights by the gateway, and methods that no upstream gets with 405', async () => {
    const preflight = await call('/api/spaces/1', {
      method: 'OPTIONS',
      headers: { origin: 'https://b.example', 'access-control-request-method': 'PUT' },
    })

    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).to.deep.equal([204, '*'])
    expect(await statusOf('/api/spaces/1', { method: 'PROPFIND' })).to.equal(405)
    expect(chat.seen).to.have.length(0)
  })

  it('cost nobody else a connection when one of them is slow, and are counted by name', async () => {
    const { behave } = voice
    const held: (() => void)[] = []
    voice.behave = (_request, response) => void held.push(() => response.end('late'))
    const late = [statusOf('/api/voice/1'), statusOf('/api/voice/2')]
    await eventually('a request is held', () => held.length > 0)
    const busy = await Promise.all([1, 2, 3].map((index) => statusOf(`/api/voice/b${index}`).catch(() => 0)))

    expect(busy).to.include(503)
    expect(await statusOf('/api/open')).to.equal(200)
    expect(await statusOf('/api/instance/info')).to.equal(200)
    voice.behave = behave
    held.splice(0).forEach((end) => end())
    expect(await Promise.all(late)).to.include(200)
    expect(await harness.metric('gatehouse_gateway_upstream_seconds_count{service="chat"}')).to.be.above(0)
    expect(
      await harness.metric('gatehouse_gateway_upstream_failures_total{service="voice",reason="busy"}'),
    ).to.be.above(0)
    expect(await harness.metric('gatehouse_gateway_requests_total{route="GET /api/open",status="200"}')).to.be.above(0)
  })

  it('are waited for as long as the route says, which may be longer than a request may take to arrive', async () => {
    const { behave } = voice
    const patient = join(folder, 'patient.yaml')
    const routes = [{ prefix: '/api/voice', access: 'anyone', timeoutMs: 800 }]
    await writeFile(patient, JSON.stringify({ upstreams: [{ name: 'voice', origins: [voice.url], routes }] }))
    await using own = await startHarness({
      config: { upstreamsFile: patient },
      timeouts: { clientHeadersMs: 200, clientRequestMs: 200 },
    })
    voice.behave = () => undefined

    const { status } = await fetch(`${own.url}/api/voice/1`)

    voice.behave = behave
    expect(status).to.equal(504)
  })

  it('change at SIGHUP without a restart; a file with a fault is one error line, and what was before stays', async () => {
    const { behave } = voice
    let end: (() => void) | undefined
    voice.behave = (_request, response) => void (end ??= () => response.end('kept'))
    const underWay = call('/api/voice/1')
    await eventually('a request is held', () => end)
    await writeUpstreams([{ prefix: '/api/calls', access: 'anyone' }], chat.url)
    process.kill(process.pid, 'SIGHUP')
    await eventually('the change', async () => (await statusOf('/api/voice/2')) === 404)
    voice.behave = behave
    end!()

    expect(await (await underWay).text()).to.equal('kept')
    expect(await statusOf('/api/calls/1')).to.equal(200)
    expect(chat.seen.map(({ url }) => url)).to.deep.equal(['/api/calls/1'])

    await writeUpstreams([{ prefix: '/api/auth', access: 'everybody' }])
    process.kill(process.pid, 'SIGHUP')
    const faults = () => harness.lines.filter(({ level }) => level === 50)
    await eventually('the error', () => faults().length > 0)
    expect(faults()).to.have.length(1)
    expect(JSON.stringify(faults()[0]))
      .to.match(/routes\[0\]\.access/)
      .and.match(/routes\[0\]\.prefix: belongs to Gatehouse/)
    expect(await statusOf('/api/calls/1')).to.equal(200)
  })
})

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')
const decode = (part: string): string => Buffer.from(part, 'base64url').toString()
const encodeByte = (sign: string): string => `%${sign.charCodeAt(0).toString(16).padStart(2, '0')}`
const signHmac = (signed: string, secret: string | Buffer): string =>
  `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
const signEd25519 = (signed: string, key: KeyObject): string =>
  `${signed}.${sign(null, Buffer.from(signed), key).toString('base64url')}`

/** The status of a GET whose path is sent as it is written: fetch normalizes it. */
async function rawStatus(port: number, path: string): Promise<number> {
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET ${path} HTTP/1.1\r\nHost: home.example\r\nConnection: close\r\n\r\n`)
  return Number((await text(socket)).split(' ')[1])
}
