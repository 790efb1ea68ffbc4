import { once } from 'node:events'
import { expect } from 'chai'
import { startHarness, type Harness } from './harness.ts'
import { openRaw, sendRaw } from './raw-client.ts'

describe('Malformed requests', () => {
  let harness: Harness
  before(async () => void (harness = await startHarness({ timeouts: { clientHeadersMs: 300 } })))
  after(() => harness[Symbol.asyncDispose]())

  const cases: Record<string, [string, number]> = {
    'Content-Length with Transfer-Encoding': [
      'POST /api/auth/login HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /api/health HTTP/1.1\r\nHost: a\r\n\r\n',
      400,
    ],
    'two different lengths': [
      'POST /api/auth/login HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef',
      400,
    ],
    'invalid chunks': [
      'POST /api/auth/login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n',
      400,
    ],
    'an unknown transfer encoding': [
      'POST /api/auth/login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\nabc',
      400,
    ],
    'a space before the colon of a header': ['GET /api/health HTTP/1.1\r\nHost: a\r\nX-Thing : b\r\n\r\n', 400],
    'no Host': ['GET /api/health HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    'headers that are too large': [`GET /api/health HTTP/1.1\r\nHost: a\r\nX-Big: ${'x'.repeat(33_000)}\r\n\r\n`, 431],
    'a target that is too long': [`GET /${'x'.repeat(33_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 431],
    'something that is not HTTP': ['\x16\x03\x01\x00hello\r\n\r\n', 400],
    'a target with an invalid percent-encoding': [
      'GET /api/users/%zz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
      400,
    ],
    CONNECT: ['CONNECT elsewhere.example:443 HTTP/1.1\r\nHost: a\r\n\r\n', 405],
  }
  it('are answered in spite of an unknown expectation', async () => {
    const answer = await sendRaw(
      harness.port,
      'GET /api/health HTTP/1.1\r\nHost: a\r\nExpect: x\r\nConnection: close\r\n\r\n',
    )

    expect(answer).to.match(/^HTTP\/1.1 200 /)
  })

  for (const [name, [bytes, status]] of Object.entries(cases)) {
    it(`are refused: ${name}`, async () => {
      const answer = await sendRaw(harness.port, bytes)

      expect(answer).to.match(new RegExp(`^HTTP/1.1 ${status} `))
      expect(answer.match(/HTTP\/1.1/g)).to.have.length(1)
      expect(answer, 'the body of an error').to.include(`"statusCode":${status}`)
      expect(answer).to.match(/^x-request-id: [0-9a-f-]{36}\r$/im)
      if (status === 405) expect(answer).to.match(/^Allow: GET, /m)
      expect(harness.stub.seen).to.have.length(0)
    })
  }

  it('do not include headers of just below 32 KiB, which reach the service with those of the gateway', async () => {
    const big = `GET /api/auth/check-username?username=ada HTTP/1.1\r\nHost: a\r\nX-Big: ${'x'.repeat(32_000)}\r\nConnection: close\r\n\r\n`
    const seen = harness.stub.seen.length

    expect(await sendRaw(harness.port, big)).to.match(/^HTTP\/1.1 200 /)
    expect(harness.stub.seen).to.have.length(seen + 1)
  })

  it('do not include requests of HTTP/1.0 without Host', async () => {
    expect(await sendRaw(harness.port, 'GET /api/health HTTP/1.0\r\n\r\n')).to.match(/^HTTP\/1.1 200 /)
  })

  /** Contract: 1, Statuses. */
  it('time out when the headers never end', async () => {
    const socket = await openRaw(harness.port)
    socket.write('GET /api/health HTTP/1.1\r\nHost: a\r\nX-Slow: ')
    const [answer] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()

    expect(answer.toString()).to.match(/^HTTP\/1.1 408 /)
  })

  it('do not include requests for another Upgrade, which are answered without it', async () => {
    const answer = await sendRaw(
      harness.port,
      'GET /api/health HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n',
      /"ok"/,
    )

    expect(answer).to.match(/^HTTP\/1.1 200 /)
  })
})
