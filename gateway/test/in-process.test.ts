import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { eventually, answered } from '@gatehouse/test-kit'
import { startHarness, type Harness } from './harness.ts'
import { openRaw } from './raw-client.ts'

describe('Forwarding to a service of the same process', () => {
  let harness: Harness
  let authorization: string
  beforeEach(async () => {
    harness = await startHarness({ embedded: true, timeouts: { clientReadMs: 300 } })
    authorization = `Bearer ${harness.member()}`
  })
  afterEach(() => harness[Symbol.asyncDispose]())

  const send = (method: string, path: string, body?: Buffer) =>
    fetch(harness.url + path, { method, headers: { authorization }, ...(body && { body: new Uint8Array(body) }) })

  it('sends the same request, whose body may be large, takes the same response, and opens no socket', async () => {
    const large = Buffer.alloc(1_000_000, 'x')
    let received = 0
    harness.stub.behave = async (request, response) => {
      received = (await text(request)).length
      response.writeHead(201, { 'Set-Cookie': ['a=1', 'b=2'] })
      response.end(large)
    }
    const response = await send('POST', '/api/uploads', large)

    expect([response.status, response.headers.getSetCookie()]).to.deep.equal([201, ['a=1', 'b=2']])
    expect([received, (await response.text()).length]).to.deep.equal([large.length, large.length])
    expect([...harness.stub.sockets].filter((socket) => socket.remoteAddress)).to.deep.equal([])
  })

  it('waits for a client that does not read, and cuts it off after its time', async () => {
    const piece = Buffer.alloc(64 * 1024)
    let written = 0
    const closed = new Promise((resolve) => {
      harness.stub.behave = (_request, response) => {
        const fill = (): void => {
          do written += 1
          while (response.write(piece))
        }
        response.on('drain', fill).once('close', resolve)
        fill()
      }
    })
    const file = Buffer.alloc(445_000, 'f')
    const waiting = await openRaw(harness.port)
    waiting.pause()
    waiting.write(`GET /api/users/@me HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\n\r\n`)
    let before = -1
    await eventually('the service waits', async () => {
      const stands = written > 0 && written === before
      before = written
      await new Promise((resolve) => setTimeout(resolve, 100))
      return stands
    })
    waiting.destroy()
    await closed

    harness.stub.behave = (_request, response) => void response.end(file)
    harness.gateway.server.once('connection', (socket) => {
      socket.cork()
      socket.uncork = () => undefined
    })
    const stalled = connect(harness.port, '127.0.0.1')
    stalled.write('GET /api/uploads/a.webp HTTP/1.1\r\nHost: a\r\n\r\n')
    await once(stalled.resume(), 'close')
  })

  it('ends a request with its client, and a response with its service', async () => {
    let requested = (): void => undefined
    const underWay = new Promise<void>((resolve) => (requested = resolve))
    const aborted = new Promise((resolve) => {
      harness.stub.behave = (request, response) => {
        response.once('close', resolve)
        request.once('aborted', resolve)
        requested()
      }
    })
    const client = await openRaw(harness.port)
    client.write(`GET /api/users/@me HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\n\r\n`)
    await underWay
    client.destroy()
    await aborted

    harness.stub.behave = (_request, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('part', () => response.destroy())
    }
    const cut = await send('GET', '/api/users/@me')
      .then((response) => response.text())
      .catch(() => 'cut')
    harness.stub.behave = (request) => request.socket.destroy()
    const lost = await send('PATCH', '/api/users/@me', Buffer.from('{}'))

    expect([cut, lost.status]).to.deep.equal(['cut', 502])
  })

  it('is refused once the service no longer listens', async () => {
    await answered(send('GET', '/api/users/@me'))
    await harness.stub[Symbol.asyncDispose]()

    expect((await send('GET', '/api/users/@me')).status).to.equal(503)
  })
})
