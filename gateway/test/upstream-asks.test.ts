import { execFile, execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { endpoints, type Endpoint } from '@gatehouse/contracts'
import { eventually } from '@gatehouse/test-kit'
import { signStatement } from '@gatehouse/upstreams'
import { expect } from 'chai'
import { startHarness, type Harness } from './harness.ts'

/** Contract: 3, upstreams. */
describe('Upstreams that ask', () => {
  const scope = new AsyncDisposableStack()
  const pairs = { chat: generateKeyPairSync('ed25519'), voice: generateKeyPairSync('ed25519') }
  const keyOf = (name: keyof typeof pairs) => pairs[name].publicKey.export({ format: 'jwk' }).x!
  let harness: Harness
  let file: string

  const writeUpstreams = (chat: object | undefined) => {
    const common = { origins: ['http://127.0.0.1:1'] }
    const open = { prefix: '/api/open', access: 'anyone' }
    const upstreams = [
      { ...common, name: 'chat', routes: [open], ...(chat && { asks: chat }) },
      { ...common, name: 'voice', routes: [], asks: { key: keyOf('voice'), rights: ['presence'] } },
    ]
    return writeFile(file, JSON.stringify({ upstreams }))
  }

  before(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-asks-'))
    scope.defer(() => rm(folder, { recursive: true }))
    file = join(folder, 'upstreams.yaml')
    await writeUpstreams({ key: keyOf('chat'), rights: ['accounts', 'presence'] })
    harness = scope.use(await startHarness({ config: { upstreamsFile: file } }))
  })
  beforeEach(() => void (harness.stub.seen.length = 0))
  after(() => scope.disposeAsync())

  const statement = (iss: keyof typeof pairs, changed: object = {}, key = pairs[iss].privateKey) => {
    const iat = Math.floor(harness.clock.now() / 1000)
    return `Upstream ${signStatement(key, { iss, aud: 'https://home.example', iat, exp: iat + 60, ...changed })}`
  }

  async function ask(path: string, authorization?: string, body: string | undefined = '{"ids":["7"]}') {
    const isRead = path.includes('changes')
    const response = await fetch(`${harness.url}${path}`, {
      method: isRead ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json', ...(authorization && { authorization }) },
      ...(!isRead && { body }),
    })
    const answer = (await response.json()) as { code?: string }
    return { status: response.status, code: answer.code, headers: response.headers }
  }
  const codeOf = async (path: string, authorization?: string) => (await ask(path, authorization)).code

  it('are named to the service by the gateway, with their rights, whose own statement the service never sees', async () => {
    const { status } = await ask('/api/upstream/accounts', statement('chat'))
    const again = await ask('/api/upstream/accounts/changes?after=0', statement('chat').replace('Upstream', 'upstream'))

    expect([status, again.status]).to.deep.equal([200, 200])
    expect(harness.stub.seen.map(({ url }) => url)).to.deep.equal([
      '/api/upstream/accounts',
      '/api/upstream/accounts/changes?after=0',
    ])
    for (const { headers } of harness.stub.seen) {
      const upstream = { name: 'chat', rights: ['accounts', 'presence'] }
      expect(harness.callerIn(headers)).to.deep.equal({ address: '127.0.0.1', account: null, upstream })
      expect(headers.authorization).to.equal(undefined)
    }
  })

  it('are refused where the statement is not theirs, has passed, is for another instance, or gives no such right', async () => {
    const iat = Math.floor(harness.clock.now() / 1000)
    const path = '/api/upstream/accounts'

    expect(await codeOf(path)).to.equal('statement_invalid')
    expect(await codeOf(path, 'Upstream')).to.equal('statement_invalid')
    expect(await codeOf(path, statement('chat', {}, pairs.voice.privateKey))).to.equal('statement_invalid')
    expect(await codeOf(path, statement('chat', { aud: 'https://other.example' }))).to.equal('statement_invalid')
    expect(await codeOf(path, statement('chat', { iat: iat - 60, exp: iat }))).to.equal('statement_stale')
    expect(await codeOf(path, statement('chat', { exp: iat + 3_600 }))).to.equal('statement_stale')
    expect(await codeOf(path, statement('voice'))).to.equal('right_missing')
    expect(await codeOf('/api/upstream/presence', statement('voice'))).to.equal(undefined)
    expect(harness.stub.seen).to.have.length(1)
    const statuses = await Promise.all([ask(path), ask(path, statement('voice'))])
    expect(statuses.map(({ status }) => status)).to.deep.equal([401, 403])
  })

  it('are no users, and users are no upstreams, under either name of the scheme', async () => {
    const token = harness.member({ userId: '7', isAdmin: true })
    const own = statement('chat')
    const asked: Endpoint[] = Object.values<Endpoint>(endpoints).filter(({ method }) => method === 'GET')
    const outcomes = async (authorization: string) => {
      const replies = asked.map(async ({ access, path }) => {
        const response = await fetch(harness.url + path.replace(/:\w+/g, '7'), { headers: { authorization } })
        await response.arrayBuffer()
        return `${access} ${response.status}`
      })
      return [...new Set(await Promise.all(replies))].toSorted()
    }

    expect(await outcomes(own)).to.deep.equal(['admin 401', 'anyone 200', 'bearer 401', 'upstream 200'])
    expect(await outcomes(own.replace('Upstream', 'Bearer'))).to.deep.equal([
      'admin 401',
      'anyone 200',
      'bearer 401',
      'upstream 401',
    ])
    for (const { headers, url } of harness.stub.seen) {
      if (!url.startsWith('/api/upstream/')) expect(harness.callerIn(headers)).to.not.have.property('upstream')
    }
    expect(await outcomes(`Bearer ${token}`))
      .to.include('upstream 401')
      .and.not.include('upstream 200')
    expect(await outcomes(`Upstream ${token}`)).to.include.members(['upstream 401', 'bearer 401'])
    const open = await fetch(`${harness.url}/api/open`, { headers: { authorization: own } })
    expect(open.status, 'a route of an upstream').to.equal(401)
  })

  it('sign with examples/upstream/ask.sh, which needs no library', async () => {
    const page = await readFile(new URL('../../docs/integrate/ask-and-answer.md', import.meta.url), 'utf8')
    const script = join(import.meta.dirname, '../../examples/upstream/ask.sh')
    const folder = dirname(file)
    await writeFile(join(folder, 'chat.pem'), pairs.chat.privateKey.export({ format: 'pem', type: 'pkcs8' }))
    const sign = async (name: string) => {
      const { stdout } = await promisify(execFile)('sh', [
        script,
        name,
        'https://home.example',
        join(folder, 'chat.pem'),
      ])
      return `Upstream ${stdout.trim()}`
    }
    const shown = /-outform DER \| (.*)\n/.exec(page)![1]!
    const der = pairs.chat.publicKey.export({ format: 'der', type: 'spki' })
    harness.clock.set(Date.now())

    expect((await ask('/api/upstream/accounts', await sign('chat'))).status).to.equal(200)
    expect(await codeOf('/api/upstream/accounts', await sign('voice'))).to.equal('statement_invalid')
    expect(execFileSync('sh', ['-c', shown], { input: der }).toString()).to.equal(keyOf('chat'))
  })

  it('send no body before their statement is known', async () => {
    const response = await ask('/api/upstream/accounts', statement('chat', { iss: 'voice' }), 'x'.repeat(60_000))

    expect([response.status, harness.stub.seen.length]).to.deep.equal([401, 0])
  })

  it('have a limit for each, from whatever address, that others and forged statements do not use up', async () => {
    const { limit } = endpoints.readPresences
    const spend = async () => (await ask('/api/upstream/presence', statement('voice'))).status
    harness.clock.advance(120_000)
    const forged = await Promise.all(
      Array.from({ length: 20 }, () => ask('/api/upstream/presence', statement('voice', {}, pairs.chat.privateKey))),
    )
    const first = await ask('/api/upstream/presence', statement('voice'))
    const remaining = Number(first.headers.get('ratelimit-remaining'))
    while ((await spend()) === 200);
    const refused = await ask('/api/upstream/presence', statement('voice'))

    expect(new Set(forged.map(({ status }) => status))).to.deep.equal(new Set([401]))
    expect([Number(first.headers.get('ratelimit-limit')), limit!.requests - remaining]).to.satisfy(
      ([of, used]: number[]) => of === limit!.requests && used! <= 5,
    )
    expect(refused.status).to.equal(429)
    expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60)
    expect((await ask('/api/upstream/presence', statement('chat'))).status).to.equal(200)
  })

  it('are dead at once when the file no longer names their key, and have what it names then', async () => {
    const held = statement('chat')
    expect((await ask('/api/upstream/accounts', held)).status).to.equal(200)

    await writeUpstreams({ key: keyOf('chat'), rights: ['presence'] })
    process.kill(process.pid, 'SIGHUP')
    await eventually('fewer rights', async () => (await codeOf('/api/upstream/accounts', held)) === 'right_missing')
    await writeUpstreams(undefined)
    process.kill(process.pid, 'SIGHUP')
    await eventually('no key', async () => (await codeOf('/api/upstream/accounts', held)) === 'statement_invalid')

    expect(await codeOf('/api/upstream/presence', held)).to.equal('statement_invalid')
  })
})
