import { once } from 'node:events'
import { expect } from 'chai'
import { eventually } from '@gatehouse/test-kit'
import { WebSocket } from 'ws'
import { startHarness, type Harness, type Options } from './harness.ts'
import { openRaw, sendRaw } from './raw-client.ts'

const info = 30
const debug = 20
const upgrade =
  'GET /ws?token=the-secret HTTP/1.1\r\nHost: a\r\nX-Request-Id: socket-1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'

describe('The access log', () => {
  let harness: Harness
  const start = async (options: Options = {}): Promise<Harness> => (harness = await startHarness(options))
  const lineOf = (requestId: string) =>
    eventually(`the line of ${requestId}`, () =>
      harness.lines.find((line) => line.msg === 'request' && line.requestId === requestId),
    )
  const ask = (
    path: string,
    requestId: string,
    init: { method?: string; headers?: Record<string, string>; body?: string } = {},
  ) => fetch(`${harness.url}${path}`, { ...init, headers: { ...init.headers, 'X-Request-Id': requestId } })
  const isLoud = ({ level }: Record<string, unknown>): boolean => Number(level) >= 40

  afterEach(() => harness[Symbol.asyncDispose]())

  /** Contract: 1, Request ids. */
  it('has a line for each request: method, route, status, ms, request id and user id, and nothing else', async () => {
    await start()
    const token = harness.member({ userId: '42' })
    const response = await ask('/api/users/77?secret=hidden', 'r-1', { headers: { Authorization: `Bearer ${token}` } })
    const { ms, time, ...line } = await lineOf('r-1')

    expect(response.headers.get('x-request-id')).to.equal('r-1')
    expect(line).to.include({ level: info, method: 'GET', route: 'GET /api/users/:id', status: 200, userId: '42' })
    expect(Object.keys(line)).to.have.members([
      'level',
      'pid',
      'hostname',
      'requestId',
      'method',
      'route',
      'status',
      'userId',
      'msg',
    ])
    expect([typeof ms, typeof time]).to.deep.equal(['number', 'number'])
    expect(harness.stub.seen[0]!.headers['x-request-id']).to.equal('r-1')
  })

  it('never has a token, a query string, a path or an address', async () => {
    await start()
    const token = harness.member()
    await ask('/api/auth/check-invite?token=invite-secret', 'r-1', { headers: { Authorization: `Bearer ${token}` } })
    await ask('/api/no/such/path-secret?password=hidden', 'r-2')
    await ask('/api/users/@me', 'r-3', { headers: { Authorization: 'Bearer forged.token.here' } })
    await lineOf('r-1')
    const [unknown, refused] = [await lineOf('r-2'), await lineOf('r-3')]

    expect(unknown).to.include({ level: info, route: 'none', status: 404 })
    expect(refused)
      .to.include({ level: info, route: 'GET /api/users/@me', status: 401 })
      .and.not.have.property('userId')
    const text = JSON.stringify(harness.lines)
    for (const secret of [token, 'invite-secret', 'path-secret', 'hidden', 'forged.token', '127.0.0.1']) {
      expect(text.includes(secret), secret).to.equal(false)
    }
  })

  it('has addresses when the operator asks for them', async () => {
    await start({ config: { logAddresses: true, trustProxy: 'loopback' } })
    await ask('/api/instance/info', 'r-1', { headers: { 'X-Forwarded-For': '203.0.113.7' } })

    expect(await lineOf('r-1')).to.include({ address: '203.0.113.7' })
  })

  it('has health checks, preflights and files of the web app at debug', async () => {
    await start()
    await ask('/api/health', 'r-1')
    await ask('/api/users/@me', 'r-2', { method: 'OPTIONS' })
    await ask('/assets/none.js', 'r-3')

    for (const id of ['r-1', 'r-2', 'r-3']) expect(await lineOf(id), id).to.include({ level: debug })
  })

  it('has clients that leave as 499, at info', async () => {
    await start()
    harness.stub.behave = () => undefined
    const socket = await openRaw(harness.port)
    socket.write('GET /api/instance/info HTTP/1.1\r\nHost: a\r\nX-Request-Id: r-1\r\n\r\n')
    await eventually('the request is forwarded', () => harness.stub.sockets.size === 1)
    socket.resetAndDestroy()

    expect(await lineOf('r-1')).to.include({ level: info, status: 499 })
    expect(harness.lines.filter(isLoud)).to.deep.equal([])
  })

  it('has a line for each WebSocket, which is counted: taken, refused, or without a session gateway', async () => {
    await start({ capacity: { socketsPerNetwork: 1 } })
    harness.stub.server.once('upgrade', (_request, socket) => {
      socket.end('HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
    })
    await sendRaw(harness.port, upgrade)
    expect(await lineOf('socket-1')).to.include({ level: info, method: 'GET', route: '/ws', status: 429 })

    harness.stub.server.on('upgrade', (_request, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    })
    const open = await openRaw(harness.port)
    open.write(upgrade.replace('socket-1', 'socket-2'))
    await once(open, 'data')
    await sendRaw(harness.port, upgrade.replace('socket-1', 'socket-3'))
    expect(await lineOf('socket-2')).to.include({ level: info, status: 101 })
    expect(await lineOf('socket-3')).to.include({ level: info, status: 503 })
    open.destroy()

    for (const status of [429, 101, 503]) {
      const series = `gatehouse_gateway_requests_total{route="/ws",status="${status}"}`
      expect(await harness.metric(series), series).to.equal(1)
    }
    expect(harness.lines.filter(isLoud)).to.deep.equal([])
    expect(JSON.stringify(harness.lines)).to.not.include('the-secret')
  })

  it('counts sockets that find no session gateway, and logs them at info', async () => {
    await start({ config: { services: { ...nowhere } } })
    const socket = new WebSocket(`${harness.url.replace('http', 'ws')}/ws`, { headers: { 'x-request-id': 'socket-1' } })
    await once(socket, 'error')

    expect(await lineOf('socket-1')).to.include({ level: info, status: 503 })
    const series = 'gatehouse_gateway_upstream_failures_total{service="session-gateway",reason="unreached"}'
    expect(await harness.metric(series)).to.equal(1)
    expect(harness.lines.filter(isLoud)).to.deep.equal([])
  })
})

const closedPort = ['http://127.0.0.1:1']
const nowhere = {
  identity: closedPort,
  invite: closedPort,
  'session-gateway': closedPort,
  'federation-fanout': closedPort,
  openid: closedPort,
}
