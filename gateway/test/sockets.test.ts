import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { expect } from 'chai'
import { eventually } from '@gatehouse/test-kit'
import { WebSocket, WebSocketServer } from 'ws'
import { startHarness, type Harness } from './harness.ts'
import { openRaw, sendRaw } from './raw-client.ts'
import type { StubService } from './stub-service.ts'

const handshake =
  'GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'

/** Makes a stub a session gateway that answers each message with `echo:` and the message, and the end of a gateway with 1012. */
function acceptSockets(stub: StubService): { upgrades: IncomingMessage[]; sockets: WebSocketServer } {
  const sockets = new WebSocketServer({ noServer: true })
  const upgrades: IncomingMessage[] = []
  stub.server.on('upgrade', (request, socket, head) => {
    upgrades.push(request)
    sockets.handleUpgrade(request, socket, head, (connection) => {
      connection.on('message', (message: Buffer) => connection.send(`echo:${message.toString()}`))
      socket.prependOnceListener('end', () => connection.close(1012, 'Server is restarting'))
    })
  })
  return { upgrades, sockets }
}

/** A session gateway that never responds, and closes its side when the other one does. */
const neverRespond = (_request: IncomingMessage, socket: Duplex): void => {
  socket.on('error', () => socket.destroy())
  socket.on('end', () => socket.end())
  socket.resume()
}

const openSockets = (harness: Harness): Promise<number> => harness.metric('gatehouse_gateway_open_sockets')

/** The status line, the headers in lower case and the body of a raw response. */
function parseResponse(text: string) {
  const [head = '', body = ''] = text.split('\r\n\r\n')
  const [statusLine, ...lines] = head.split('\r\n')
  const headers = Object.fromEntries(lines.map((line) => line.toLowerCase().split(': ')))
  return { statusLine, headers: headers as Record<string, string>, body }
}

describe('Sockets through the gateway', () => {
  let harness: Harness
  const onUpgrade = (behave: (request: IncomingMessage, socket: Duplex) => void) =>
    void harness.stub.server.on('upgrade', behave)
  const allAreClosed = async (of: Harness = harness): Promise<void> => {
    await eventually(
      'both connections are closed',
      async () => (await openSockets(of)) === 0 && of.stub.sockets.size === 0,
    )
  }

  beforeEach(async () => {
    harness = await startHarness({ timeouts: { drainTimeoutMs: 200 }, config: { trustProxy: 'loopback' } })
  })
  afterEach(() => harness[Symbol.asyncDispose]())

  it('carry messages both ways, with the signed address and no header that only the gateway may set', async () => {
    const { upgrades } = acceptSockets(harness.stub)
    const client = new WebSocket(`${harness.url.replace('http', 'ws')}/ws`, {
      headers: { 'x-forwarded-for': '203.0.113.7', 'x-gatehouse-caller': 'forged', authorization: 'Bearer x' },
    })
    await once(client, 'open')
    client.send('hello')
    const [message] = (await once(client, 'message')) as [Buffer]

    expect(message.toString()).to.equal('echo:hello')
    const { headers } = upgrades[0]!
    expect(harness.callerIn(headers)).to.deep.equal({ address: '203.0.113.7', account: null })
    expect(headers).not.to.have.any.keys('authorization', 'x-forwarded-for')
    expect(headers['x-request-id']).to.match(/^[0-9a-f-]{36}$/)
    client.close()
    await allAreClosed()
  })

  it('are for upgrades to /ws only', async () => {
    acceptSockets(harness.stub)
    const plain = await fetch(`${harness.url}/ws`)
    const elsewhere = await sendRaw(harness.port, handshake.replace('/ws', '/api/health'), /"ok"/)

    expect(plain.status).to.equal(426)
    expect(await plain.json()).to.include({ code: 'upgrade_required' })
    expect(elsewhere).to.match(/^HTTP\/1.1 200 /)
  })

  it('are closed when clients reset before the session gateway responds', async () => {
    onUpgrade(neverRespond)
    const clients = await Promise.all(Array.from({ length: 50 }, () => openRaw(harness.port)))
    for (const client of clients) client.write(handshake)
    await eventually('all are forwarded', () => harness.stub.sockets.size === 50)
    for (const client of clients) client.resetAndDestroy()

    await allAreClosed()
  })

  it('are closed at the upgrade timeout when clients leave and the session gateway never responds', async () => {
    await using hanging = await startHarness({ timeouts: { upgradeMs: 500 } })
    hanging.stub.server.on('upgrade', neverRespond)
    const clients = await Promise.all(Array.from({ length: 50 }, () => openRaw(hanging.port)))
    for (const client of clients) client.end(handshake)

    await allAreClosed(hanging)
  })

  it('are answered with 504 when the session gateway never responds, and closed', async () => {
    await using hanging = await startHarness({ timeouts: { upgradeMs: 200 } })
    hanging.stub.server.on('upgrade', neverRespond)
    const started = performance.now()
    const { statusLine, headers, body } = parseResponse(await sendRaw(hanging.port, handshake))

    expect(performance.now() - started).to.be.at.least(190)
    expect(statusLine).to.equal('HTTP/1.1 504 Gateway Timeout')
    expect(headers).to.include({ 'content-type': 'application/json; charset=utf-8', connection: 'close' })
    expect(JSON.parse(body)).to.deep.equal({
      error: 'The service did not respond in time',
      statusCode: 504,
      code: 'upgrade_late',
    })
    await allAreClosed(hanging)
  })

  it('are answered with the status of a session gateway that refuses, and closed', async () => {
    onUpgrade((request, socket) => {
      neverRespond(request, socket)
      const head = 'HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\nX-Internal: 1\r\nConnection: close'
      socket.write(`${head}\r\n\r\n5\r\nnever\r\n`)
    })
    const withId = handshake.replace('Host: a', 'Host: a\r\nX-Request-Id: mine-1')
    const { statusLine, headers, body } = parseResponse(await sendRaw(harness.port, withId))

    expect(statusLine).to.equal('HTTP/1.1 403 Forbidden')
    expect(headers).to.deep.equal({
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(body.length),
      'cache-control': 'no-store',
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'retry-after, x-request-id',
      connection: 'close',
      'x-request-id': 'mine-1',
    })
    expect(JSON.parse(body)).to.deep.equal({ error: 'Forbidden', statusCode: 403, code: 'forbidden' })
    await allAreClosed()
  })

  it('are answered with the Retry-After of a session gateway that refuses, and the body of the contract', async () => {
    let refusal = ['429 Too Many Requests', 'Retry-After: 7']
    onUpgrade((_request, socket) =>
      socket.end(`HTTP/1.1 ${refusal.join('\r\n')}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`),
    )
    const limited = parseResponse(await sendRaw(harness.port, handshake))
    refusal = ['503 Service Unavailable']
    const unavailable = parseResponse(await sendRaw(harness.port, handshake))

    expect(limited.statusLine).to.equal('HTTP/1.1 429 Too Many Requests')
    expect(limited.headers['retry-after']).to.equal('7')
    expect(limited.headers['x-request-id']).to.match(/^[0-9a-f-]{36}$/)
    const fixed = { statusCode: 429, error: 'Too Many Requests', message: 'Rate limit exceeded', retryAfter: 7 }
    expect(JSON.parse(limited.body)).to.deep.equal(fixed)
    expect(unavailable.statusLine).to.equal('HTTP/1.1 503 Service Unavailable')
    expect(unavailable.headers['retry-after']).to.equal('1')
  })

  it('are answered with 502 when the session gateway breaks off, and closed', async () => {
    onUpgrade((_request, socket) => socket.destroy())
    const { statusLine, body } = parseResponse(await sendRaw(harness.port, handshake))

    expect(statusLine).to.equal('HTTP/1.1 502 Bad Gateway')
    expect(JSON.parse(body)).to.deep.equal({
      error: 'The service closed the connection',
      statusCode: 502,
      code: 'upgrade_broken',
    })
    await allAreClosed()
  })

  it('are answered with 502 also on a connection that has served a request before', async () => {
    onUpgrade((_request, socket) => socket.destroy())
    const client = await openRaw(harness.port)
    client.write('GET /api/health HTTP/1.1\r\nHost: a\r\n\r\n')
    await once(client, 'data')
    client.write(handshake)
    const [answer] = (await once(client, 'data')) as [Buffer]

    expect(parseResponse(answer.toString()).statusLine).to.equal('HTTP/1.1 502 Bad Gateway')
    await allAreClosed()
  })

  it('are closed with the session gateway, after what it sent last', async () => {
    onUpgrade((_request, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
      socket.end('last message')
    })
    const answer = await sendRaw(harness.port, handshake)

    expect(answer).to.match(/^HTTP\/1.1 101 /)
    expect(answer.endsWith('last message')).to.equal(true)
    await allAreClosed()
  })

  it('are closed when clients reset later', async () => {
    acceptSockets(harness.stub)
    const clients = await Promise.all(Array.from({ length: 50 }, () => openRaw(harness.port)))
    await Promise.all(
      clients.map(async (client) => {
        client.write(handshake)
        await once(client, 'data')
      }),
    )
    expect(await openSockets(harness)).to.equal(50)
    for (const client of clients) client.resetAndDestroy()

    await allAreClosed()
  })

  it('are closed when clients take nothing for too long, and stay while they read', async () => {
    await using strict = await startHarness({ timeouts: { socketSilenceMs: 5_000 } })
    let opened = 0
    strict.stub.server.on('upgrade', (_request, socket: Duplex) => {
      opened += 1
      socket.on('error', () => socket.destroy())
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
      const flood = setInterval(() => socket.write(Buffer.alloc(256 * 1024)), 20)
      socket.on('close', () => clearInterval(flood))
    })
    const [reading, silent] = [await openRaw(strict.port), await openRaw(strict.port)]
    reading.resume()
    for (const client of [reading, silent]) client.write(handshake)
    await eventually('both are open', () => opened === 2)

    await eventually('the silent one is closed', async () => (await openSockets(strict)) === 1)

    expect(reading.destroyed).to.equal(false)
    for (const client of [reading, silent]) client.destroy()
    await allAreClosed(strict)
  })

  it('are answered with 503 when no session gateway is reachable', async () => {
    await harness.stub[Symbol.asyncDispose]()
    const { statusLine, headers, body } = parseResponse(await sendRaw(harness.port, handshake))

    expect(statusLine).to.equal('HTTP/1.1 503 Service Unavailable')
    expect(headers['retry-after']).to.equal('1')
    expect(JSON.parse(body)).to.deep.equal({
      error: 'Service temporarily unavailable, please try again',
      code: 'unavailable',
      statusCode: 503,
    })
  })

  it('are forwarded to the next session gateway when one refuses the connection', async () => {
    await using two = await startHarness({ replicas: 2 })
    const { upgrades } = acceptSockets(two.stubs[1]!)
    await two.stubs[0]![Symbol.asyncDispose]()
    for (let count = 0; count < 4; count += 1) {
      const client = new WebSocket(`${two.url.replace('http', 'ws')}/ws`)
      await once(client, 'open')
      client.terminate()
    }

    expect(upgrades).to.have.length(4)
  })

  describe('while the gateway stops', () => {
    /** A client with an open socket through a gateway that begins to stop. */
    async function stopWithSocket(stopping: Harness) {
      const { sockets } = acceptSockets(stopping.stub)
      const client = new WebSocket(`${stopping.url.replace('http', 'ws')}/ws`)
      await once(client, 'open')
      const closed = once(client, 'close').then(([code]) => code as number)
      const stopped = stopping.gateway[Symbol.asyncDispose]()
      return { client, sockets, closed, stopped }
    }

    it('close with 1012, after what the session gateway has sent, though that one stays', async () => {
      const longMs = 600_000
      await using stopping = await startHarness({ timeouts: { drainTimeoutMs: longMs }, config: { drainMs: longMs } })
      const { client, sockets, closed, stopped } = await stopWithSocket(stopping)

      expect(await closed).to.equal(1012)
      await stopped
      expect(client.readyState).to.equal(WebSocket.CLOSED)
      await eventually('the session gateway has no socket left', () => sockets.clients.size === 0)
    })

    it('close with 1012 within a frame of the client too, which nobody reads then', async () => {
      await using stopping = await startHarness({ timeouts: { drainTimeoutMs: 5_000 } })
      const { sockets } = acceptSockets(stopping.stub)
      const client = await openRaw(stopping.port)
      let received = Buffer.alloc(0)
      client.on('data', (bytes: Buffer) => (received = Buffer.concat([received, bytes])))
      client.write(handshake)
      await eventually('the socket is open', () => received.includes('101 Switching') && sockets.clients.size === 1)
      // A text frame of two bytes, then one of which the second byte is missing.
      const frame = Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69])
      const bytesRead = () => [...stopping.stub.sockets].reduce((sum, socket) => sum + socket.bytesRead, 0)
      const before = bytesRead()
      client.write(Buffer.concat([frame, frame.subarray(0, 7)]))
      await eventually('the part of the frame has been forwarded', () => bytesRead() === before + 15)
      await Promise.all([stopping.gateway[Symbol.asyncDispose](), once(client, 'close')])

      const closeFrame = Buffer.concat([Buffer.from([0x88, 22, 0x03, 0xf4]), Buffer.from('Server is restarting')])
      expect(received.toString('latin1').match(/echo:h/g)).to.have.length(1)
      expect(received.subarray(-24)).to.deep.equal(closeFrame)
    })

    /** Contract: 6, Server going away. */
    it('Server going away: 1012, spread over a drain period: all of 2,000 sockets', async () => {
      const count = 2_000
      await using stopping = await startHarness({
        capacity: { socketsPerNetwork: count, connectionsPerNetwork: count, descriptors: 20_000 },
        timeouts: { drainTimeoutMs: 20_000 },
        config: { drainMs: 60_000 },
      })
      acceptSockets(stopping.stub)
      const closures: { code: number; at: number }[] = []
      for (let opened = 0; opened < count; opened += 50) {
        await Promise.all(
          Array.from({ length: 50 }, async () => {
            const client = new WebSocket(`${stopping.url.replace('http', 'ws')}/ws`)
            client.on('close', (code) => closures.push({ code, at: performance.now() }))
            await once(client, 'open')
          }),
        )
      }
      await stopping.gateway[Symbol.asyncDispose]()
      await eventually('all are closed', () => closures.length === count)

      expect(closures.filter(({ code }) => code === 1012)).to.have.length(count)
      // At 2 ms each: with less than half of the period between the first and the last they would come all at once.
      expect(closures.at(-1)!.at - closures[0]!.at).to.be.above(count)
    })

    it('are cut after the drain timeout when the session gateway does not close them', async () => {
      await using stopping = await startHarness({ timeouts: { drainTimeoutMs: 400 } })
      stopping.stub.server.on('upgrade', (_request, socket: Duplex) => {
        socket.on('error', () => socket.destroy())
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
        socket.resume()
      })
      const client = await openRaw(stopping.port)
      client.write(handshake)
      await once(client, 'data')
      const closed = once(client, 'close')
      const started = performance.now()
      await stopping.gateway[Symbol.asyncDispose]()
      await closed

      expect(performance.now() - started).to.be.at.least(390)
    })
  })
})
