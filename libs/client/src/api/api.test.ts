import type { UserReply } from '@gatehouse/contracts'
import { endpointTable, type EndpointRow } from '@gatehouse/contracts/endpoints'
import { expect } from 'chai'
import { createFakeClock, settle } from '../../test/fake-clock.ts'
import { createFakeNetwork } from '../../test/fake-network.ts'
import { home } from '../../test/harness.ts'
import { exportData } from '../export/index.ts'
import { createApi, type Call } from './api.ts'
import { ApiError, NetworkFailure, RateLimited, isAborted, listOwnedSpaces } from './errors.ts'

function buildApi(token: string | null = 't') {
  const clock = createFakeClock()
  const network = createFakeNetwork()
  const refused: string[] = []
  const api = createApi({
    origin: home,
    fetch: network.fetch,
    clock,
    jitter: () => 0,
    token: () => token,
    onTokenRefused: (invalid) => void refused.push(invalid),
  })
  return { api, clock, network, refused }
}

const failureOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => null,
    (error: unknown) => error,
  )
const me = `GET ${home}/api/users/@me`

describe('the API client', () => {
  it('calls every public endpoint of the contract, with its method, path and need for a token', async () => {
    const { api, network } = buildApi()
    const call = api.call as (name: string, input: object) => Promise<unknown>
    const names = Object.entries<EndpointRow>(endpointTable).filter(
      ([name, { access }]) => access !== 'peer' && name !== 'acceptPeer',
    )
    for (const [name] of names)
      await failureOf(call(name, { params: { id: '5', filename: '5', provider: '5', uid: '5' } }))

    const requests = network.sent.map(({ method, url, token }) => [method, new URL(url).pathname, token])
    expect(requests).to.deep.equal(
      names.map(([, { method, path, access, readsToken }]) => [
        method,
        path.replace(/:\w+/, '5'),
        access === 'anyone' && !readsToken ? null : 't',
      ]),
    )
    expect(requests).to.deep.include(['POST', '/api/auth/providers/5/start', 't'])
    expect(requests).to.deep.include(['POST', '/api/auth/register', null])
    expect(requests).to.deep.include(['DELETE', '/api/admin/users/5', 't'])
  })

  it('names the endpoint that there is not, and is no promise itself', async () => {
    const { api, network } = buildApi()
    const call = api.call as (name: string) => Promise<unknown>

    for (const name of ['getEverything', 'constructor', 'then']) {
      expect(await failureOf(call(name))).to.include({ name: 'TypeError', message: `There is no endpoint ${name}` })
    }
    expect(network.sent).to.deep.equal([])
    expect(await Promise.resolve(api)).to.equal(api)
  })

  it('sends queries as text, bodies as JSON, and {} with a POST that needs no field', async () => {
    const { api, network } = buildApi()
    await failureOf(api.call('listUsers', { query: { q: 'a b&c', page: 2, showDeleted: true, role: undefined } }))
    await failureOf(api.call('getUser', { params: { id: '5/../6?x' } }))
    await failureOf(api.call('revokeInvite', { params: { id: '5' } }))
    await failureOf(api.call('deleteInvite', { params: { id: '5' } }))

    expect(network.sent.map(({ method, url, body }) => [method, url.replace(home, ''), body])).to.deep.equal([
      ['GET', '/api/admin/users?q=a+b%26c&page=2&showDeleted=true', null],
      ['GET', '/api/users/5%2F..%2F6%3Fx', null],
      ['POST', '/api/admin/invites/5/revoke', '{}'],
      ['DELETE', '/api/admin/invites/5', null],
    ])
  })

  it('takes the shapes of the contract and no others: the compiler is the test', () => {
    const typed = async (call: Call) => {
      const user: UserReply = await call('getUser', { params: { id: '5' } })
      const { token }: { token: string } = await call('changePassword', { body: { newPassword: 'x' } })
      await call('listUsers', { query: { page: 2, showDeleted: true, sort: 'az' } })
      // @ts-expect-error -- the path has a parameter
      await call('getUser', {})
      // @ts-expect-error -- the path has no such parameter
      await call('getUser', { params: { userId: '5' } })
      // @ts-expect-error -- the body has no such type
      await call('setRole', { params: { id: '5' }, body: { isAdmin: 'yes' } })
      // @ts-expect-error -- the body lacks a field
      await call('register', { body: { username: 'alice' } })
      // @ts-expect-error -- the body has no such field
      await call('patchSelf', { body: { nickname: 'Al' } })
      // @ts-expect-error -- the query has no such value
      await call('listInvites', { query: { status: 'ended' } })
      // @ts-expect-error -- the endpoint takes no body
      await call('getSelf', { body: {} })
      // @ts-expect-error -- the reply has no such field
      const { session } = await call('login', { body: { username: 'a', password: 'b' } })
      // @ts-expect-error -- the endpoint is for peers
      await call('epoch', {})
      // @ts-expect-error -- there is no such endpoint
      await call('getEverything', {})
      return { user, token, session }
    }

    expect(typed).to.be.a('function')
  })

  it('gives errors with status, message, extra fields and request id', async () => {
    const { api, network } = buildApi()
    const ownedSpaces = [{ id: '5', name: 'Garden' }]
    network.answer(`DELETE ${home}/api/users/@me`, {
      status: 400,
      body: { error: 'You own spaces', statusCode: 400, ownedSpaces },
      headers: { 'x-request-id': 'r1' },
    })

    const error = await failureOf(api.call('deleteSelf', { body: { username: 'alice', password: 'x' } }))

    expect(error).to.be.instanceOf(ApiError)
    expect(error).to.deep.include({ status: 400, message: 'You own spaces', fields: { ownedSpaces }, requestId: 'r1' })
    expect(listOwnedSpaces(error)).to.deep.equal(ownedSpaces)
    expect(listOwnedSpaces(new Error('other'))).to.deep.equal([])
  })

  it('gives errors with the code of the refusal, and the field that was invalid', async () => {
    const { api, network } = buildApi()
    const details = { field: 'newPassword', reason: 'too_short', min: 8 }
    network.answer(me, { status: 400, body: { error: 'Too short', statusCode: 400, code: 'invalid_input', details } })
    expect(await failureOf(api.call('getSelf'))).to.deep.include({ code: 'invalid_input', details })

    network.answer(me, { status: 400, body: { error: 'An older server', statusCode: 400 } })
    expect(await failureOf(api.call('getSelf'))).to.include({ code: null, details: null })
  })

  it('takes cookies along to the start of a provider sign-in and the questions of applications alone, at its own origin', async () => {
    const modes: unknown[] = []
    const fetch = async (_: string, { credentials }: RequestInit) => {
      modes.push(credentials)
      return new Response('{"url":"https://id.example","providers":[]}')
    }
    const api = createApi({ origin: home, fetch, clock: createFakeClock(), jitter: () => 0 })

    await api.call('startProvider', { params: { provider: 'a' }, body: { purpose: 'login' } })
    await api.call('readInteraction', { params: { uid: 'a' } })
    await api.call('decideInteraction', { params: { uid: 'a' }, body: { decision: 'allow' } })
    await api.call('listProviders')
    await api.call('readDeviceCode', { body: { userCode: 'a' } })

    expect(modes).to.deep.equal(['same-origin', 'same-origin', 'same-origin', 'omit', 'omit'])
  })

  it('treats 429 as a rate-limit error with a countdown', async () => {
    const { api, network } = buildApi()
    const limitedBy = async (reply: object) => {
      network.answer(me, { status: 429, ...reply })
      return failureOf(api.call('getSelf'))
    }
    const body = { statusCode: 429, error: 'Too Many Requests', message: 'Rate limit exceeded', retryAfter: 41.2 }

    expect(await limitedBy({ body }))
      .to.be.instanceOf(RateLimited)
      .and.include({ status: 429, retryAfter: 42 })
    expect(await limitedBy({ headers: { 'retry-after': '7' } })).to.include({ retryAfter: 7 })
    expect(await limitedBy({ headers: { 'retry-after': '2592000' } })).to.include({ retryAfter: 86_400 })
    expect(await limitedBy({ body: { ...body, retryAfter: 86_400.5 } })).to.include({ retryAfter: 86_400 })
    expect(await limitedBy({ body: 'a proxy page' })).to.include({ retryAfter: 60 })
  })

  it('gives NetworkFailure when no answer comes, at once or within 30 seconds', async () => {
    const { api, clock, network } = buildApi()
    network.answer(me, 'down')
    const down = await failureOf(api.call('getSelf'))
    network.answer(me, 'hang')
    const hanging = failureOf(api.call('getSelf'))
    await clock.advance(30_000)

    expect(down).to.be.instanceOf(NetworkFailure).and.include({ origin: home, timedOut: false })
    expect(await hanging)
      .to.be.instanceOf(NetworkFailure)
      .and.include({ timedOut: true })
    expect(clock.pending()).to.equal(0)
  })

  it('ends with an AbortError when the signal fires, before or during the call', async () => {
    const { api, clock, network } = buildApi()
    network.answer(me, 'hang')
    const aborting = new AbortController()
    const during = failureOf(api.call('getSelf', { signal: aborting.signal }))
    await settle()
    aborting.abort('any reason')
    const before = failureOf(api.call('getSelf', { signal: aborting.signal }))

    expect(isAborted(await during)).to.equal(true)
    expect(isAborted(await before)).to.equal(true)
    expect(clock.pending()).to.equal(0)
  })

  it('reports a refused token, but not refused credentials', async () => {
    const { api, network, refused } = buildApi()
    network.answer(me, { status: 401, body: { error: 'Invalid token' } })
    network.answer(`POST ${home}/api/auth/login`, { status: 401, body: { error: 'Invalid username or password' } })

    await failureOf(api.call('login', { body: { username: 'alice', password: 'x' } }))
    expect(refused).to.deep.equal([])
    await failureOf(api.call('getSelf'))

    expect(refused).to.deep.equal(['t'])
  })

  it('returns the refusals of check-username that carry a reason', async () => {
    const { api, network } = buildApi()
    const answer = { available: false, reason: 'Registration is currently closed' }
    network.answer(`GET ${home}/api/auth/check-username`, { status: 403, body: { ...answer, error: 'Closed' } })

    expect(await api.checkUsername('alice')).to.deep.equal(answer)
  })

  it('gives an export as it comes, part by part, for as long as parts come', async () => {
    const clock = createFakeClock()
    let parts: ReadableStreamDefaultController<Uint8Array> | undefined
    const fetched = { signal: undefined as AbortSignal | undefined }
    const slow = createApi({
      origin: home,
      clock,
      jitter: () => 0,
      token: () => 't',
      fetch: async (_, init) => {
        fetched.signal = init.signal ?? undefined
        const body = new ReadableStream<Uint8Array>({ start: (controller) => void (parts = controller) })
        return new Response(body, { headers: { 'content-type': 'application/zip' } })
      },
    })
    const progress: number[] = []
    const exporting = exportData(slow, { password: 'x' }, { clock, onProgress: (bytes) => void progress.push(bytes) })
    await settle()
    for (const part of ['PK', 'more']) {
      await clock.advance(29_000)
      parts?.enqueue(new TextEncoder().encode(part))
      await settle()
    }
    parts?.close()

    const archive = await exporting

    expect(fetched.signal?.aborted).to.equal(false)
    expect(progress).to.deep.equal([2, 6])
    expect([await archive.text(), archive.type]).to.deep.equal(['PKmore', 'application/zip'])
  })

  it('reads the refusal of an export like any other', async () => {
    const { api, network } = buildApi()
    network.answer(`POST ${home}/api/users/@me/export`, { status: 403, body: { error: 'Incorrect password' } })

    expect(await failureOf(exportData(api, { password: 'wrong' }))).to.include({
      status: 403,
      message: 'Incorrect password',
    })
  })

  it('sends a file as multipart in the field file', async () => {
    let body: unknown
    const clock = createFakeClock()
    const fetch = async (_: string, init: RequestInit) => {
      body = init.body
      return new Response('{"filename":"f.webp"}', { status: 201 })
    }
    const api = createApi({ origin: home, fetch, clock, jitter: () => 0 })

    const { filename } = await api.upload(new Blob(['png'], { type: 'image/png' }))

    expect((body as FormData).get('file')).to.be.instanceOf(Blob)
    expect((body as FormData).has('crop')).to.equal(false)
    await api.upload(new Blob(['png']), { crop: '0,21,100' })
    expect((body as FormData).get('crop')).to.equal('0,21,100')
    expect(api.uploadUrl(filename)).to.equal(`${home}/api/uploads/f.webp`)
    expect(api.uploadUrl(null)).to.equal(null)
  })

  describe('fetch', () => {
    it('brings the token to a path of the instance alone, and gives the response as it came', async () => {
      const { api, network } = buildApi()
      network.answer(`GET ${home}/api/chat/rooms`, { body: { rooms: [] }, headers: { 'x-rooms': '0' } })

      const response = await api.fetch('/api/chat/rooms?page=2', { headers: { accept: 'text/plain' } })
      const elsewhere = await api.fetch('.evil.example/' as '/').catch((error: unknown) => error)

      expect([response.headers.get('x-rooms'), await response.json()]).to.deep.equal(['0', { rooms: [] }])
      expect(network.sent).to.have.length(1)
      expect(network.sent[0]).to.include({ url: `${home}/api/chat/rooms?page=2`, token: 't' })
      expect(elsewhere).to.be.instanceOf(TypeError)
    })

    it('repeats reads while servers are away, and never what may have been done', async () => {
      const { api, network, clock } = buildApi()
      const answers = ['down' as const, { status: 503, body: { error: 'away', code: 'x' } }, { body: {} }]
      network.answer(`GET ${home}/api/chat/rooms`, () => answers.shift() ?? {})
      network.answer(`POST ${home}/api/chat/rooms`, {
        status: 503,
        body: { error: 'away' },
        headers: { 'x-request-id': 'r' },
      })

      const read = api.fetch('/api/chat/rooms')
      await clock.advance(500)
      await clock.advance(1_000)
      const write = await api.fetch('/api/chat/rooms', { method: 'POST' }).catch((error: unknown) => error)

      expect((await read).status).to.equal(200)
      expect(write).to.include({ status: 503, message: 'away', requestId: 'r' })
      expect(network.sent.map(({ method }) => method)).to.deep.equal(['GET', 'GET', 'GET', 'POST'])
    })

    it('gives the status of a refusal in a form of its own, which ends nothing', async () => {
      const { api, network, refused } = buildApi()
      network.answer(`GET ${home}/api/chat/a`, { status: 422, body: { detail: 'too long' } })
      network.answer(`GET ${home}/api/chat/b`, { status: 401, body: '<html>' })
      network.answer(`GET ${home}/api/chat/c`, {
        status: 401,
        body: { error: 'x', statusCode: 403, code: 'invalid_token' },
      })

      const paths = ['/api/chat/a', '/api/chat/b', '/api/chat/c'] as const
      const failures = await Promise.all(paths.map((path) => failureOf(api.fetch(path))))

      expect(failures.map((failure) => (failure as ApiError).status)).to.deep.equal([422, 401, 401])
      expect(failures[0]).to.deep.include({ fields: { detail: 'too long' } })
      expect(refused).to.deep.equal([])
    })

    it('ends the session for a 401 about the token, not for one of an upstream', async () => {
      const { api, network, refused } = buildApi()
      network.answer(`GET ${home}/api/chat/a`, { status: 401, body: { error: 'no statement' } })
      network.answer(`GET ${home}/api/chat/b`, { status: 401, body: { error: 'Invalid token', code: 'invalid_token' } })

      await api.fetch('/api/chat/a').catch(() => undefined)
      const before = [...refused]
      await api.fetch('/api/chat/b').catch(() => undefined)

      expect([before, refused]).to.deep.equal([[], ['t']])
    })
  })
})
