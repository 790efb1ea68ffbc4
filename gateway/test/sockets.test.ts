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

/** Makes a stub a session gateway that answers each message with `echo:` and the message. */
function takeSockets(stub: StubService): { upgrades: IncomingMessage[] } {
  const sockets = new WebSocketServer({ noServer: true })
  const upgrades: IncomingMessage[] = []
  stub.server.on('upgrade', (request, socket, head) => {
    upgrades.push(request)
    sockets.handleUpgrade(request, socket, head, (connection) => {
      connection.on('message', (message: Buffer) => connection.send(`echo:${message.toString()}`))
    })
  })
  return { upgrades }
}

/** A session gateway that says nothing, but notices when the other side ends. */
const stayQuiet = (_request: IncomingMessage, socket: Duplex): void => {
  socket.on('error', () => socket.destroy())
  socket.on('end', () => socket.end())
  socket.resume()
}

const openSockets = async (harness: Harness): Promise<number> => {
  const text = await (await fetch(`${harness.opsUrl}/metrics`)).text()
  return Number(/^gatehouse_gateway_open_sockets (\d+)/m.exec(text)?.[1])
}

describe('sockets through the gateway', () => {
  let harness: Harness
  const onUpgrade = (behave: (request: IncomingMessage, socket: Duplex) => void) =>
    void harness.stub.server.on('upgrade', behave)
  const nothingIsLeft = async (): Promise<void> => {
    await eventually(
      'both legs are gone',
      async () => (await openSockets(harness)) === 0 && harness.stub.sockets.size === 0,
    )
  }

  beforeEach(async () => {
    harness = await startHarness({
      patience: { upgradeMs: 200, farewellMs: 200, connectMs: 300 },
      config: { trustProxy: 'loopback' },
    })
  })
  afterEach(() => harness[Symbol.asyncDispose]())

  it('carry messages both ways, with the signed address and nothing that the client made up', async () => {
    const { upgrades } = takeSockets(harness.stub)
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
    await nothingIsLeft()
  })

  it('are for upgrades to /ws only', async () => {
    takeSockets(harness.stub)
    const plain = await fetch(`${harness.url}/ws`)
    const elsewhere = await sendRaw(harness.port, handshake.replace('/ws', '/api/health'), /"ok"/)

    expect(plain.status).to.equal(426)
    expect(elsewhere).to.match(/^HTTP\/1.1 200 /)
  })

  it('survive a client that resets before the session gateway answers', async () => {
    onUpgrade(stayQuiet)
    const clients = await Promise.all(Array.from({ length: 50 }, () => openRaw(harness.port)))
    for (const client of clients) client.write(handshake)
    await eventually('all are handed over', () => harness.stub.sockets.size === 50)
    for (const client of clients) client.resetAndDestroy()

    await nothingIsLeft()
  })

  it('end on both sides when a client leaves and the session gateway never answers', async () => {
    onUpgrade(stayQuiet)
    const clients = await Promise.all(Array.from({ length: 50 }, () => openRaw(harness.port)))
    for (const client of clients) client.end(handshake)

    await nothingIsLeft()
  })

  it('are answered when the session gateway does not, and are not kept', async () => {
    onUpgrade(stayQuiet)
    const answer = await sendRaw(harness.port, handshake)

    expect(answer).to.match(/^HTTP\/1.1 504 /)
    await nothingIsLeft()
  })

  it('are told the status with which the session gateway refuses, and are not kept', async () => {
    onUpgrade((request, socket) => {
      stayQuiet(request, socket)
      socket.write('HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nnever\r\n')
    })
    const client = await openRaw(harness.port)
    client.write(handshake)
    const [answer] = (await once(client, 'data')) as [Buffer]

    expect(answer.toString())
      .to.match(/^HTTP\/1.1 403 Forbidden\r\n/)
      .and.not.to.include('chunked')
    await nothingIsLeft()
  })

  it('are answered when the session gateway breaks off, and are not kept', async () => {
    onUpgrade((_request, socket) => socket.destroy())
    const answer = await sendRaw(harness.port, handshake)

    expect(answer).to.match(/^HTTP\/1.1 502 /)
    await nothingIsLeft()
  })

  it('end with the session gateway, after its last words', async () => {
    onUpgrade((_request, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
      socket.end('last words')
    })
    const answer = await sendRaw(harness.port, handshake)

    expect(answer).to.match(/^HTTP\/1.1 101 /)
    expect(answer.endsWith('last words')).to.equal(true)
    await nothingIsLeft()
  })

  it('end with the client when it resets later', async () => {
    takeSockets(harness.stub)
    const clients = await Promise.all(Array.from({ length: 50 }, () => openRaw(harness.port)))
    await Promise.all(
      clients.map(async (client) => {
        client.write(handshake)
        await once(client, 'data')
      }),
    )
    expect(await openSockets(harness)).to.equal(50)
    for (const client of clients) client.resetAndDestroy()

    await nothingIsLeft()
  })

  it('get 503 when no session gateway can be reached', async () => {
    await harness.stub[Symbol.asyncDispose]()
    const answer = await sendRaw(harness.port, handshake)

    expect(answer)
      .to.match(/^HTTP\/1.1 503 /)
      .and.to.match(/Retry-After/)
  })

  it('go to the next session gateway when one refuses the connection', async () => {
    await using two = await startHarness({ replicas: 2 })
    const { upgrades } = takeSockets(two.stubs[1]!)
    await two.stubs[0]![Symbol.asyncDispose]()
    for (let count = 0; count < 4; count += 1) {
      const client = new WebSocket(`${two.url.replace('http', 'ws')}/ws`)
      await once(client, 'open')
      client.terminate()
    }

    expect(upgrades).to.have.length(4)
  })

  it('stay while the gateway stops until the session gateway has said goodbye', async () => {
    await using stopping = await startHarness({ patience: { farewellMs: 5_000 } })
    const sockets = new WebSocketServer({ noServer: true })
    stopping.stub.server.on('upgrade', (request, socket, head) => {
      sockets.handleUpgrade(request, socket, head, () => undefined)
    })
    const client = new WebSocket(`${stopping.url.replace('http', 'ws')}/ws`)
    await once(client, 'open')
    const closed = once(client, 'close')
    const stopped = stopping.gateway[Symbol.asyncDispose]()
    for (const connection of sockets.clients) connection.close(1012)

    expect((await closed)[0]).to.equal(1012)
    await stopped
  })
})
