import { once } from 'node:events'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { expect } from 'chai'
import { eventually } from '@gatehouse/test-kit'
import { startHarness, type Harness } from './harness.ts'
import { openRaw, sendRaw } from './raw-client.ts'

describe('Forwarding', () => {
  let harness: Harness
  let token: string
  beforeEach(async () => {
    harness = await startHarness({ timeouts: { readMs: 1_500, writeMs: 1_500, connectMs: 1_500 } })
    token = harness.member()
  })
  afterEach(() => harness[Symbol.asyncDispose]())

  const bearer = () => ({ authorization: `Bearer ${token}` })
  const patch = (body: BodyInit, headers: Record<string, string> = {}) =>
    fetch(`${harness.url}/api/users/@me`, {
      method: 'PATCH',
      headers: { ...bearer(), 'content-type': 'application/json', ...headers },
      body,
    })

  it('passes method, path, query, body and headers to the service, and the response to the client', async () => {
    harness.stub.behave = async (request, response) => {
      const body = (await Readable.from(request).toArray()).join('')
      response.writeHead(201, { 'X-Thing': 'a', 'Set-Cookie': ['a=1', 'b=2'], 'X-Powered-By': 'koa' })
      response.end(`${request.method} ${request.url} ${String(request.headers['x-mine'])} ${body}`)
    }

    const response = await fetch(`${harness.url}/api/users/@me?x=%20`, {
      method: 'PATCH',
      headers: { ...bearer(), 'x-mine': 'kept' },
      body: '{"bio":"ü"}',
    })

    expect(response.status).to.equal(201)
    expect(await response.text()).to.equal('PATCH /api/users/@me?x=%20 kept {"bio":"ü"}')
    expect(response.headers.get('x-thing')).to.equal('a')
    expect(response.headers.getSetCookie()).to.deep.equal(['a=1', 'b=2'])
    expect(response.headers.has('x-powered-by')).to.equal(false)
  })

  it('closes an idle connection to a service, which offers to keep it for a minute', async () => {
    harness.stub.server.keepAliveTimeout = 60_000

    const response = await fetch(`${harness.url}/api/users/@me`, { headers: bearer() })

    expect([response.status, harness.stub.sockets.size > 0]).to.deep.equal([200, true])
    await eventually('no connection is left', () => harness.stub.sockets.size === 0)
  })

  /** Contract: 3, check-invite. */
  it('passes any query to check-invite, and no malformed one to another route', async () => {
    harness.stub.behave = (request, response) => void response.end(request.url)
    const ask = async (path: string) => await fetch(harness.url + path, { headers: bearer() })

    for (const query of ['?token=%ff', '?token=%zz', '?token=%']) {
      const response = await ask(`/api/auth/check-invite${query}`)
      expect([response.status, await response.text()]).to.deep.equal([200, `/api/auth/check-invite${query}`])
      expect((await ask(`/api/users/@me${query}`)).status).to.equal(400)
    }
  })

  it('removes headers that only the gateway may set, hop-by-hop headers and tokens', async () => {
    await sendRaw(
      harness.port,
      [
        'GET /api/users/@me HTTP/1.1',
        'Host: home.example',
        `Authorization: Bearer ${token}`,
        'X-Gatehouse-Caller: forged',
        'X-Gatehouse-Anything: forged',
        'X-Forwarded-For: 1.2.3.4',
        'X-Forwarded-Host: evil.example',
        'Forwarded: for=1.2.3.4',
        'Cookie: a=1',
        'Keep-Alive: timeout=1',
        'TE: trailers',
        'Connection: close, X-Hop',
        'X-Hop: mine',
        'X-Kept: one',
        'X-Kept: two',
        '\r\n',
      ].join('\r\n'),
    )

    const { headers } = harness.stub.seen[0]!
    expect(harness.callerIn(headers)?.address).to.equal('127.0.0.1')
    expect(Object.keys(headers).sort()).to.deep.equal([
      'connection',
      'host',
      'x-gatehouse-caller',
      'x-kept',
      'x-request-id',
    ])
    expect(headers['x-kept']).to.equal('one, two')
    expect(headers.host).to.equal(new URL(harness.stub.url).host)
  })

  it('gives each request an id: a valid one is kept, an invalid one replaced, and the service gets the same', async () => {
    const kept = await fetch(`${harness.url}/api/users/@me`, { headers: { ...bearer(), 'x-request-id': 'my.id-1_x' } })
    const made = await fetch(`${harness.url}/api/users/@me`, { headers: { ...bearer(), 'x-request-id': 'no good' } })

    expect(kept.headers.get('x-request-id')).to.equal('my.id-1_x')
    expect(made.headers.get('x-request-id')).to.match(/^[0-9a-f-]{36}$/)
    expect(harness.stub.seen.map(({ headers }) => headers['x-request-id'])).to.deep.equal([
      'my.id-1_x',
      made.headers.get('x-request-id'),
    ])
  })

  it('lets no response be cached or shown as a page unless the service says so', async () => {
    const ask = async () => {
      const { headers } = await fetch(`${harness.url}/api/users/@me`, { headers: bearer() })
      return [headers.get('cache-control'), headers.get('content-security-policy')]
    }
    const unsaid = await ask()
    harness.stub.behave = (_request, response) => {
      response.writeHead(200, { 'Cache-Control': 'public, max-age=9', 'Content-Security-Policy': 'sandbox' })
      response.end('{}')
    }

    expect(unsaid).to.deep.equal(['no-store', "default-src 'none'; frame-ancestors 'none'"])
    expect(await ask()).to.deep.equal(['public, max-age=9', 'sandbox'])
  })

  it('logs no fault and ejects no replica when clients leave in the middle of a body', async () => {
    const post = (path: string, method: string): string =>
      `${method} ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Length: 10\r\n\r\nhello`
    for (const bytes of [post('/api/users/@me', 'PATCH'), post('/api/uploads', 'POST')]) {
      const route = bytes.startsWith('PATCH') ? 'PATCH /api/users/@me' : 'POST /api/uploads'
      const arrived = once(harness.gateway.server, 'request')
      const socket = await openRaw(harness.port)
      socket.write(bytes)
      await arrived
      if (bytes.startsWith('POST')) await eventually('the upload is forwarded', () => harness.stub.sockets.size >= 2)
      socket.resetAndDestroy()
      const series = `gatehouse_gateway_requests_total{route="${route}",status="499"}`
      await eventually('it is counted', async () => (await harness.metric(series)) === 1)
    }
    const response = await fetch(`${harness.url}/api/users/@me`, { headers: bearer() })

    expect(response.status).to.equal(200)
    expect(harness.lines.filter(({ level }) => Number(level) >= 40)).to.deep.equal([])
  })

  it('answers HEAD without a body, and 204 and 304 without one', async () => {
    harness.stub.behave = (request, response) => {
      response.writeHead(request.headers['x-want'] ? Number(request.headers['x-want']) : 200, { 'content-length': '0' })
      response.end()
    }
    const head = await fetch(`${harness.url}/api/users/@me`, { method: 'HEAD', headers: bearer() })
    const nothing = await fetch(`${harness.url}/api/users/@me`, { headers: { ...bearer(), 'x-want': '204' } })
    const unchanged = await fetch(`${harness.url}/api/users/@me`, { headers: { ...bearer(), 'x-want': '304' } })

    expect([head.status, nothing.status, unchanged.status]).to.deep.equal([200, 204, 304])
    expect(await head.text()).to.equal('')
  })

  it('answers another method on a known path with what is allowed, and an unknown path with 404', async () => {
    const wrong = await fetch(`${harness.url}/api/users/@me`, { method: 'PUT' })
    const unknown = await fetch(`${harness.url}/api/nothing`)
    const inside = await fetch(`${harness.url}/internal/account-states`, { method: 'POST' })

    expect(wrong.status).to.equal(405)
    expect(wrong.headers.get('allow')).to.equal('GET, HEAD, PATCH, DELETE, OPTIONS')
    expect(await unknown.json()).to.deep.equal({ error: 'Not found', statusCode: 404, code: 'not_found' })
    expect(inside.status).to.equal(404)
    expect(harness.stub.seen).to.have.length(0)
  })

  it('refuses bodies that are too large before reading them, and while reading when their length is not declared', async () => {
    const declared = await sendRaw(
      harness.port,
      `POST /api/auth/login HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 70000\r\n\r\n`,
    )
    const undeclared = await patch(Readable.toWeb(Readable.from([Buffer.alloc(70_000)])) as never, {}).catch(
      () => undefined,
    )

    expect(declared).to.match(/^HTTP\/1.1 413 /)
    expect(declared).to.match(/Connection: close/i)
    if (undeclared) expect(undeclared.status).to.equal(413)
    expect(harness.stub.seen).to.have.length(0)
  })

  it('sends 100 Continue only when it is going to read the body', async () => {
    const body = '{"bio":"x"}'
    const head = `PATCH /api/users/@me HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n`

    const refused = await sendRaw(harness.port, `${head}\r\n`, /\r\n\r\n.+/)
    const socket = await openRaw(harness.port)
    socket.write(`${head}Authorization: Bearer ${token}\r\nConnection: close\r\n\r\n`)
    const [first] = (await once(socket, 'data')) as [Buffer]
    socket.write(body)
    const [second] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()

    expect(refused).to.match(/^HTTP\/1.1 401 /)
    expect(first.toString()).to.match(/^HTTP\/1.1 100 /)
    expect(second.toString()).to.match(/^HTTP\/1.1 200 /)
    expect(harness.stub.seen[0]).to.include({ body })
  })

  it('streams an upload to the service', async () => {
    let firstPiece = (_size: number): void => undefined
    const arrived = new Promise<number>((resolve) => (firstPiece = resolve))
    harness.stub.behave = async (request, response) => {
      request.once('data', (piece: Buffer) => firstPiece(piece.length))
      await once(request, 'end')
      response.writeHead(201).end('stored')
    }
    const socket = await openRaw(harness.port)
    const answered = once(socket, 'data')
    socket.write(
      `POST /api/uploads HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Type: multipart/form-data\r\nContent-Length: 10\r\n\r\nhello`,
    )
    expect(await arrived).to.equal(5)
    socket.write('world')
    const [answer] = (await answered) as [Buffer]
    socket.destroy()

    expect(answer.toString()).to.match(/^HTTP\/1.1 201 /)
  })

  it('counts responses by route and status, and those of clients that closed their connection as 499', async () => {
    const count = (route: string, status: number): Promise<number> =>
      harness.metric(`gatehouse_gateway_requests_total{route="${route}",status="${status}"}`)
    await fetch(`${harness.url}/api/users/7`, { headers: bearer() })
    await fetch(`${harness.url}/api/users/8`, { headers: bearer() })
    await fetch(`${harness.url}/api/users/@me`)
    await fetch(`${harness.url}/api/health`)
    await fetch(`${harness.url}/api/nothing`)
    let reached = (): void => undefined
    const isReached = new Promise<void>((resolve) => (reached = resolve))
    harness.stub.behave = () => {
      reached()
    }
    const socket = await openRaw(harness.port)
    socket.write(`GET /api/users/9 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`)
    await isReached
    socket.resetAndDestroy()

    await eventually('the aborted request is counted', async () => (await count('GET /api/users/:id', 499)) === 1)
    expect(await count('GET /api/users/:id', 200)).to.equal(2)
    expect(await count('GET /api/users/@me', 401)).to.equal(1)
    expect(await count('/api/health', 200)).to.equal(1)
    expect(await count('none', 404)).to.equal(1)
    expect(await harness.metric('gatehouse_gateway_auth_refusals_total{reason="unauthorized"}')).to.equal(1)
  })

  it('applies back-pressure when a client reads slowly', async () => {
    let written = 0
    harness.stub.behave = (_request, response) => {
      const piece = Buffer.alloc(64 * 1024)
      const fill = (): void => {
        do written += piece.length
        while (response.write(piece))
      }
      response.on('drain', fill)
      fill()
    }
    const socket = await openRaw(harness.port)
    socket.pause()
    socket.write(`GET /api/users/@me HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`)
    let before = -1
    await eventually('the service waits', async () => {
      const stands = written > 0 && written === before
      before = written
      await new Promise((resolve) => setTimeout(resolve, 100))
      return stands
    })

    expect(written).to.be.below(32 * 1024 * 1024)
    socket.destroy()
    await eventually('the upstream connection is closed', () => harness.stub.sockets.size === 0)
  })

  it("cuts the client's connection when the service breaks off in the middle of a response", async () => {
    harness.stub.behave = (_request, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('part')
      setImmediate(() => response.destroy())
    }
    const failure = await fetch(`${harness.url}/api/users/@me`, { headers: bearer() }).then(
      (response) => response.text().catch(() => 'cut'),
      () => 'cut',
    )

    expect(failure).to.equal('cut')
  })

  it('cuts a chunked response without its last chunk, so that it is not taken for complete', async () => {
    let breakOff = (): unknown => undefined
    harness.stub.behave = (_request, response) => {
      response.write('part')
      breakOff = () => response.destroy()
    }
    const socket = await openRaw(harness.port)
    let answer = ''
    socket.on('data', (piece: Buffer) => (answer += piece.toString()))
    socket.write(`GET /api/users/@me HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`)
    await eventually('the part has come', () => answer.includes('part'))
    breakOff()
    await once(socket, 'close')

    expect(answer.endsWith('0\r\n\r\n')).to.equal(false)
  })

  it('answers 504 and what to do when a service hangs', async () => {
    harness.stub.behave = () => undefined
    const response = await patch('{}')

    expect(response.status).to.equal(504)
    expect(((await response.json()) as { error: string }).error).to.match(/did not respond in time.*check before/i)
    expect(response.headers.has('retry-after')).to.equal(true)
  })

  it('answers 502 when a service breaks off in a request that it may have carried out', async () => {
    harness.stub.behave = (request) => request.socket.destroy()
    const response = await patch('{}')

    expect(response.status).to.equal(502)
    expect(((await response.json()) as { error: string }).error).to.match(/check before you repeat/)
  })

  it('answers 503 with Retry-After when no replica is reachable, and works again when one is back', async () => {
    token = harness.member()
    await fetch(`${harness.url}/api/users/@me`, { headers: bearer() })
    const port = Number(new URL(harness.stub.url).port)
    await harness.stub[Symbol.asyncDispose]()

    const response = await fetch(`${harness.url}/api/users/@me`, { headers: bearer() })
    expect(response.status).to.equal(503)
    expect(response.headers.get('retry-after')).to.equal('1')

    const { startStub } = await import('./stub-service.ts')
    await using _again = await startStub(port)
    const back = await fetch(`${harness.url}/api/users/@me`, { headers: bearer() })
    expect(back.status).to.equal(200)
  })

  it('aborts the upstream requests of clients that close their connection', async () => {
    harness.stub.behave = (_request, response) => void response.write('begun')
    const sockets = await Promise.all(Array.from({ length: 120 }, () => openRaw(harness.port)))
    for (const socket of sockets) {
      socket.write(`GET /api/users/@me HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`)
    }
    await eventually('all requests have reached the service', () => harness.stub.sockets.size >= 120)
    for (const socket of sockets) socket.resetAndDestroy()

    await eventually('all upstream connections are closed', () => harness.stub.sockets.size <= 1)
    harness.stub.behave = (_request, response) => response.end('{}')
    expect((await fetch(`${harness.url}/api/users/@me`, { headers: bearer() })).status).to.equal(200)
  })
})

describe('Forwarding to several replicas', () => {
  it('distributes requests in turn', async () => {
    await using harness = await startHarness({ replicas: 3 })
    const authorization = `Bearer ${harness.member()}`
    for (let count = 0; count < 9; count += 1)
      await fetch(`${harness.url}/api/users/@me`, { headers: { authorization } })

    // The account state query took a turn too.
    for (const stub of harness.stubs) expect(stub.seen.length).to.be.within(2, 4)
  })

  it('tries the next when one refuses the connection, for writes too', async () => {
    await using harness = await startHarness({ replicas: 2 })
    const authorization = `Bearer ${harness.member()}`
    await harness.stubs[0]![Symbol.asyncDispose]()

    const statuses = []
    for (let count = 0; count < 6; count += 1) {
      const init = { method: 'PATCH', headers: { authorization }, body: `{"bio":"${count}"}` }
      statuses.push((await fetch(`${harness.url}/api/users/@me`, init)).status)
    }

    expect(statuses).to.deep.equal(Array.from({ length: 6 }, () => 200))
    expect(harness.stubs[1]!.seen.map(({ body }) => body)).to.have.length(6)
  })

  it('ejects none that breaks off a response which it had begun: an export ends so when its token is revoked', async () => {
    await using harness = await startHarness({ replicas: 2 })
    const authorization = `Bearer ${harness.member()}`
    let breakOff = (): unknown => undefined
    for (const stub of harness.stubs) {
      const { behave } = stub
      stub.behave = (request, response) => {
        if (request.method === 'GET') return behave(request, response)
        response.write('part')
        breakOff = () => response.destroy()
      }
    }
    const init = { method: 'POST', headers: { authorization }, body: '{}' }
    const begun = await fetch(`${harness.url}/api/users/@me/export`, init)
    breakOff()
    const rest = await begun.text().catch(() => 'cut')
    for (let count = 0; count < 6; count += 1) {
      await fetch(`${harness.url}/api/users/@me`, { headers: { authorization } })
    }

    expect([begun.status, rest]).to.deep.equal([200, 'cut'])
    for (const stub of harness.stubs) expect(stub.seen.length).to.be.within(2, 4)
  })

  it('does not retry a read once what states its caller may have expired', async () => {
    await using harness = await startHarness({ replicas: 2, timeouts: { retryMs: 0 } })
    const authorization = `Bearer ${harness.member()}`
    let reads = 0
    for (const stub of harness.stubs) {
      stub.behave = (request) => {
        reads += 1
        request.socket.destroy()
      }
    }
    const { status } = await fetch(`${harness.url}/api/users/@me`, { headers: { authorization } })

    expect([status, reads]).to.deep.equal([502, 1])
  })

  it('retries a read on the next when one breaks off, and never a write', async () => {
    await using harness = await startHarness({ replicas: 2 })
    const authorization = `Bearer ${harness.member()}`
    let writes = 0
    for (const stub of harness.stubs) {
      const { behave } = stub
      stub.behave = (request, response) => {
        if (request.method === 'PATCH') writes += 1
        if (request.method === 'PATCH' || stub === harness.stubs[0]) return request.socket.destroy()
        return behave(request, response)
      }
    }
    const reads = []
    for (let count = 0; count < 4; count += 1) {
      reads.push((await fetch(`${harness.url}/api/users/@me`, { headers: { authorization } })).status)
    }
    const init = { method: 'PATCH', headers: { authorization }, body: '{}' }
    const write = await fetch(`${harness.url}/api/users/@me`, init)

    expect(reads).to.deep.equal([200, 200, 200, 200])
    expect(write.status).to.equal(502)
    expect(writes).to.equal(1)
  })

  it('sends a read that broke off to the only replica once more, and never a write', async () => {
    await using harness = await startHarness()
    const authorization = `Bearer ${harness.member()}`
    const seen: string[] = []
    let breaks = 1
    const { behave } = harness.stub
    harness.stub.behave = (request, response) => {
      seen.push(request.method ?? '')
      return seen.length > breaks ? behave(request, response) : request.socket.destroy()
    }
    const statusOf = async (init: RequestInit) => {
      seen.length = 0
      return (await fetch(`${harness.url}/api/users/@me`, { ...init, headers: { authorization } })).status
    }

    expect([await statusOf({}), seen]).to.deep.equal([200, ['GET', 'GET']])
    expect([await statusOf({ method: 'PATCH', body: '{}' }), seen]).to.deep.equal([502, ['PATCH']])
    breaks = 3
    expect([await statusOf({}), seen]).to.deep.equal([502, ['GET', 'GET']])
  })

  it('sends it on a new connection, as the service may have closed all the others too', async () => {
    await using harness = await startHarness()
    const init = { headers: { authorization: `Bearer ${harness.member()}` } }
    const read = async () => (await fetch(`${harness.url}/api/users/@me`, init)).status
    const { behave } = harness.stub
    const held: (() => void)[] = []
    const sockets = new Set<Socket>()
    harness.stub.behave = (request, response) => {
      sockets.add(request.socket)
      return new Promise((resolve) => held.push(() => resolve(behave(request, response))))
    }
    const opened = Promise.all([read(), read(), read()])
    await eventually('three connections are open', () => held.length === 3)
    for (const answer of held) answer()
    await opened
    expect(sockets.size).to.equal(3)
    // As if all of them had been closed as the request was sent.
    harness.stub.behave = (request, response) =>
      sockets.has(request.socket) ? request.socket.destroy() : behave(request, response)

    expect(await read()).to.equal(200)
  })
})
