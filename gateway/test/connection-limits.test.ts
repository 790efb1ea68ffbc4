import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect } from 'chai'
import { eventually } from '@gatehouse/test-kit'
import { readDescriptorLimit } from '../src/limits/connection-limits.ts'
import { startHarness, type Harness } from './harness.ts'

const health = 'GET /api/health HTTP/1.1\r\nHost: a\r\n\r\n'
const handshake = 'GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'

function acceptUpgrade(_request: unknown, socket: Socket): void {
  socket.on('error', () => socket.destroy())
  socket.on('end', () => socket.end())
  socket.resume()
  socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
}

describe('Connections', () => {
  const sockets: Socket[] = []
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy()
  })

  async function openFrom(localAddress: string, { port }: Harness): Promise<Socket> {
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    socket.on('error', () => socket.destroy())
    sockets.push(socket)
    await once(socket, 'connect')
    return socket
  }
  async function ask(socket: Socket, bytes = health): Promise<string> {
    socket.write(bytes)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    return answer.toString()
  }

  it('of one network are limited: one more gets 503 and is closed, until one has ended; others are served', async () => {
    await using harness = await startHarness({ capacity: { connectionsPerNetwork: 5 } })
    const own: Socket[] = []
    for (let count = 0; count < 5; count += 1) own.push(await openFrom('127.0.0.1', harness))
    for (const socket of own) expect(await ask(socket)).to.match(/^HTTP\/1.1 200 /)

    const sixth = await ask(await openFrom('127.0.0.1', harness))
    const other = await ask(await openFrom('127.0.0.2', harness))
    own[0]!.destroy()
    const again = await eventually('a place is free', async () => {
      const answer = await ask(await openFrom('127.0.0.1', harness))
      return answer.startsWith('HTTP/1.1 200 ')
    })

    expect(sixth).to.match(/^HTTP\/1.1 503 /)
    expect(sixth).to.match(/Retry-After: 1/i)
    expect(sixth).to.match(/Connection: close/i)
    expect(sixth).to.include('Too many connections')
    expect(other).to.match(/^HTTP\/1.1 200 /)
    expect(again).to.equal(true)
    expect(await harness.metric('gatehouse_gateway_refused_connections_total{reason="network"}')).to.be.at.least(1)
  })

  it('of a trusted proxy are not, but the requests under way of each client behind it', async () => {
    await using harness = await startHarness({
      capacity: { connectionsPerNetwork: 2 },
      config: { trustProxy: 'loopback' },
    })
    harness.stub.behave = () => undefined
    const from = (address: string) =>
      `GET /api/instance/info HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${address}\r\n\r\n`
    for (let count = 0; count < 2; count += 1) (await openFrom('127.0.0.1', harness)).write(from('203.0.113.1'))
    await eventually('both are under way', () => harness.stub.sockets.size === 2)

    expect(await ask(await openFrom('127.0.0.1', harness), from('203.0.113.1'))).to.match(/^HTTP\/1.1 503 /)
    harness.stub.behave = (_request, response) => response.end('{}')
    expect(await ask(await openFrom('127.0.0.1', harness), from('203.0.113.2'))).to.match(/^HTTP\/1.1 200 /)
    for (const socket of sockets) socket.destroy()
  })

  it('in total are limited by the file descriptors, and WebSockets leave some of them for requests', async () => {
    await using harness = await startHarness({ capacity: { descriptors: 40 } })
    harness.stub.server.on('upgrade', acceptUpgrade)
    const upgrades = []
    for (let count = 0; count < 6; count += 1) {
      upgrades.push((await ask(await openFrom('127.0.0.1', harness), handshake)).slice(9, 12))
      await eventually('the refused one is closed', () => sockets.filter((one) => !one.destroyed).length <= 5)
    }
    const answers = []
    for (let count = 0; count < 6; count += 1)
      answers.push((await ask(await openFrom('127.0.0.1', harness))).slice(9, 12))

    // 20 of the 40 are for services; a WebSocket takes three, and all of them three quarters.
    expect(upgrades).to.deep.equal(['101', '101', '101', '101', '101', '503'])
    expect(answers).to.deep.equal(['200', '200', '200', '200', '200', '503'])
  })

  it('under /ws have a limit of their own for each network', async () => {
    await using harness = await startHarness({ capacity: { socketsPerNetwork: 3, connectionsPerNetwork: 2 } })
    harness.stub.server.on('upgrade', acceptUpgrade)
    const own: Socket[] = []
    for (let count = 0; count < 3; count += 1) own.push(await openFrom('127.0.0.1', harness))
    for (const socket of own.slice(0, 2)) expect(await ask(socket, handshake)).to.match(/^HTTP\/1.1 101 /)
    const third = await openFrom('127.0.0.1', harness)
    expect(await ask(third, handshake)).to.match(/^HTTP\/1.1 101 /)

    const fourth = await ask(await openFrom('127.0.0.1', harness), handshake)
    expect(fourth).to.match(/^HTTP\/1.1 503 /)
    expect(fourth).to.match(/Retry-After: 1/i)
    expect(await ask(await openFrom('127.0.0.2', harness), handshake)).to.match(/^HTTP\/1.1 101 /)
    third.destroy()
    await eventually('a place is free', async () => {
      const next = await openFrom('127.0.0.1', harness)
      const answer = await ask(next, handshake)
      if (answer.startsWith('HTTP/1.1 101 ')) return true
      next.destroy()
      return false
    })
  })

  it('carry requests that were sent ahead one after the other, and end when there are too many', async () => {
    await using harness = await startHarness()
    const socket = await openFrom('127.0.0.1', harness)
    let answers = ''
    socket.on('data', (chunk: Buffer) => (answers += chunk.toString()))
    socket.write(health.repeat(10))
    await eventually('all are answered', () => answers.split('HTTP/1.1 200 ').length === 11)

    harness.stub.behave = () => undefined
    const greedy = await openFrom('127.0.0.1', harness)
    greedy.write('GET /api/instance/info HTTP/1.1\r\nHost: a\r\n\r\n' + health.repeat(20))
    await once(greedy.resume(), 'close')
  })

  it('know how many file descriptors the process has', () => {
    expect(readDescriptorLimit()).to.be.greaterThan(100)
    expect(readDescriptorLimit('/nonexistent')).to.equal(10_240)
  })
})
