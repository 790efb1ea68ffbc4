import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { Agent, request, type Dispatcher } from 'undici'
import { eventually } from '@gatehouse/test-kit'
import { startHarness, type Harness } from './harness.ts'
import { openRaw } from './raw-client.ts'

const slowClients = 300
const file = Buffer.alloc(445_000, 'f')

const upload = (token: string): string =>
  `POST /api/uploads HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Type: multipart/form-data\r\nContent-Length: 1000\r\n\r\nx`

/** Slow clients come from 127.0.0.1, this one from 127.0.0.2. */
async function askAsOther(harness: Harness, path: string, options: Partial<Dispatcher.RequestOptions> = {}) {
  const agent = new Agent({ localAddress: '127.0.0.2' })
  try {
    const response = await request(harness.url + path, { dispatcher: agent, method: 'GET', ...options })
    const body = await response.body.text()
    return { status: response.statusCode, headers: response.headers, length: body.length }
  } finally {
    await agent.destroy()
  }
}

describe('Slow clients', () => {
  let harness: Harness
  let sockets: Socket[]
  let files = 0
  const open = async (count: number, of = harness): Promise<Socket[]> => {
    const opened = await Promise.all(Array.from({ length: count }, () => openRaw(of.port)))
    sockets.push(...opened)
    return opened
  }
  const start = async (options: Parameters<typeof startHarness>[0] = {}): Promise<Harness> => {
    harness = await startHarness(options)
    harness.stub.behave = (incoming, response) => {
      if (incoming.method === 'POST') return void incoming.resume()
      if (incoming.url?.startsWith('/api/uploads/')) {
        files += 1
        return void response.end(file)
      }
      response.end('{}')
    }
    return harness
  }
  beforeEach(() => {
    sockets = []
    files = 0
  })
  afterEach(async () => {
    for (const socket of sockets) socket.destroy()
    await harness[Symbol.asyncDispose]()
  })

  /** Corked for good at the gateway: however large the buffers of the system are, nothing leaves. */
  async function openSlowReaders(count: number): Promise<Socket[]> {
    let corked = 0
    const cork = (socket: Socket): void => {
      socket.cork()
      socket.uncork = () => undefined
      corked += 1
    }
    harness.gateway.server.on('connection', cork)
    const readers = await open(count)
    await eventually('all are connected', () => corked === count)
    harness.gateway.server.off('connection', cork)
    for (const reader of readers) reader.write('GET /api/uploads/a.webp HTTP/1.1\r\nHost: a\r\n\r\n')
    return readers
  }

  it(`that do not read hold no connection of the service: ${slowClients} readers of files`, async () => {
    // On a slow machine the last of them wait longer than in production.
    await start({ timeouts: { queueMs: 60_000 } })
    await openSlowReaders(slowClients)
    // Beyond the connections of one network, 44 got 503. The others have half of 64 connections to the service in turn.
    await eventually('all have been answered by the service', () => files === 256)
    const authorization = `Bearer ${harness.member()}`
    const statuses = []
    for (let count = 0; count < 20; count += 1) {
      statuses.push((await askAsOther(harness, '/api/uploads/b.webp')).status)
      statuses.push((await askAsOther(harness, '/api/users/@me', { headers: { authorization } })).status)
    }

    expect(new Set(statuses)).to.deep.equal(new Set([200]))
  })

  it('that do not read hold no more memory than their network may', async () => {
    await start({ capacity: { bufferedBytesPerNetwork: 2_000_000 } })
    const readers = await openSlowReaders(10)
    const destroyed = () => readers.filter((reader) => reader.resume().destroyed).length

    await eventually('those beyond it are cut off', () => destroyed() >= 5)
    expect(destroyed()).to.be.within(5, 6)
    expect((await askAsOther(harness, '/api/uploads/b.webp')).length).to.equal(file.length)
  })

  it('that do not read are cut off after a time', async () => {
    await start({ timeouts: { clientReadMs: 300 } })
    const started = performance.now()
    const readers = await openSlowReaders(3)
    await Promise.all(readers.map((reader) => once(reader.resume(), 'close')))

    expect(performance.now() - started).to.be.at.least(290)
  })

  it(`that upload slowly hold two connections for each account: ${slowClients} uploads, and others are served`, async () => {
    await start()
    const token = harness.member()
    const writers = await open(slowClients)
    const refused = writers.map(async (writer) => {
      writer.write(upload(token))
      const [answer] = (await once(writer, 'data').catch(() => [''])) as [Buffer]
      return answer.toString()
    })
    const first = await Promise.race(refused)
    await eventually(
      'all but two have an answer',
      () => writers.filter((one) => one.bytesRead > 0 || one.destroyed).length >= slowClients - 2,
    )
    const other = `Bearer ${harness.member({ userId: '43' })}`

    expect(first).to.match(/^HTTP\/1.1 503 /)
    expect(first).to.match(/Retry-After: 1/i)
    expect(writers.filter((one) => one.bytesRead === 0 && !one.destroyed)).to.have.length(2)
    expect((await askAsOther(harness, '/api/uploads/b.webp')).status).to.equal(200)
    expect((await askAsOther(harness, '/api/users/@me', { headers: { authorization: other } })).status).to.equal(200)
  })

  it('that upload slowly from one network hold eight connections, whatever accounts they have', async () => {
    await start()
    const writers = await open(12)
    for (const [index, writer] of writers.entries())
      writer.write(upload(harness.member({ userId: String(100 + index) })))

    await eventually('four are refused', () => writers.filter((one) => one.bytesRead > 0).length === 4)
    for (const writer of writers) writer.destroy()
    const [late] = await open(1)
    await eventually('their uploads have ended', () => harness.stub.sockets.size <= 2)
    late!.write(upload(harness.member({ userId: '200' })))
    await eventually('another one is forwarded', () => harness.stub.sockets.size >= 2)
    expect(late!.bytesRead).to.equal(0)
  })

  it(`that send their JSON slowly hold nothing: ${slowClients} writers`, async () => {
    await start()
    const token = harness.member()
    const head = `PATCH /api/users/@me HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Length: 100\r\n\r\n{`
    for (const writer of await open(slowClients)) writer.write(head)
    const authorization = `Bearer ${harness.member({ userId: '43' })}`

    for (let count = 0; count < 20; count += 1) {
      expect((await askAsOther(harness, '/api/users/@me', { headers: { authorization } })).status).to.equal(200)
    }
  })

  it('are answered with 503 when no connection comes free in time; account states have connections of their own', async () => {
    await start({
      capacity: { connectionsPerReplica: 2 },
      timeouts: { queueMs: 150 },
      config: { trustProxy: 'loopback' },
    })
    let reached = 0
    harness.stub.behave = () => void (reached += 1)
    const ask = (address: string) => {
      const headers = {
        authorization: `Bearer ${harness.member({ userId: address.slice(-1) })}`,
        'x-forwarded-for': address,
      }
      return fetch(`${harness.url}/api/users/@me`, { headers })
    }
    const held = [ask('203.0.113.1'), ask('203.0.113.2')].map((one) => one.catch(() => undefined))
    await eventually('all connections are taken', () => reached === 2)
    const before = harness.stub.stateQueries
    const refused = await ask('203.0.113.3')

    expect(refused.status).to.equal(503)
    expect(refused.headers.get('retry-after')).to.equal('1')
    expect(harness.stub.stateQueries).to.equal(before + 1)
    harness.stub.server.closeAllConnections()
    await Promise.all(held)
  })

  it(`that do not read their WebSocket: ${slowClients} beside one that works`, async () => {
    await start()
    harness.stub.server.on('upgrade', (_request, socket: Socket) => {
      socket.on('error', () => socket.destroy())
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
      socket.write(Buffer.alloc(200_000))
    })
    const handshake = 'GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
    for (let opened = 100; opened <= slowClients; opened += 100) {
      for (const reader of await open(100)) reader.pause().write(handshake)
      await eventually('they are open', async () => (await harness.metric('gatehouse_gateway_open_sockets')) === opened)
    }
    const other = connect({ port: harness.port, host: '127.0.0.1', localAddress: '127.0.0.2' })
    sockets.push(other)
    other.write(handshake)
    let received = 0
    other.on('data', (chunk: Buffer) => (received += chunk.length))

    await eventually('the other one gets everything', () => received > 200_000)
    const authorization = `Bearer ${harness.member()}`
    expect((await askAsOther(harness, '/api/users/@me', { headers: { authorization } })).status).to.equal(200)
  })
})
