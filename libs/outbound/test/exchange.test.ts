import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { buildOutbound, failureKind, startPeer } from './harness.ts'

/** Writes until the other side is gone. */
function drip(response: ServerResponse, chunk: string): void {
  const timer = setInterval(() => response.write(chunk), 5)
  response.on('close', () => clearInterval(timer))
}

describe('an exchange', () => {
  it('carries method, path, headers and body, and gives status, headers and body', async () => {
    const echo = async (request: IncomingMessage, response: ServerResponse) => {
      const received = [
        request.method,
        request.url,
        request.headers['x-kind'],
        request.headers.host,
        await text(request),
      ]
      response.writeHead(409, { 'x-answer': 'yes', 'set-cookie': ['a=1', 'b=2'] }).end(JSON.stringify(received))
    }
    await using peer = await startPeer((request, response) => void echo(request, response))
    await using outbound = buildOutbound()
    const url = `http://127.0.0.1:${peer.port}/api?x=1#part`
    const headers = { 'X-Kind': 'test', Host: 'evil.test' }

    const answer = await outbound.request({ method: 'DELETE', url, headers, body: '{"ż":1}', timeoutMs: 5000 })

    expect(answer.status).to.equal(409)
    expect(answer.headers).to.include({ 'x-answer': 'yes', 'set-cookie': 'a=1, b=2' })
    const received = ['DELETE', '/api?x=1', 'test', `127.0.0.1:${peer.port}`, '{"ż":1}']
    expect(JSON.parse(answer.body.toString())).to.deep.equal(received)
  })

  it('takes an answer of exactly the longest length and no longer', async () => {
    await using peer = await startPeer((request, response) => response.end(Buffer.alloc(Number(request.url?.slice(1)))))
    await using outbound = buildOutbound()
    const origin = `http://127.0.0.1:${peer.port}`

    const longest = await outbound.request({ method: 'GET', url: `${origin}/65536`, timeoutMs: 5000 })

    expect(longest.body).to.have.length(65_536)
    const tooLong = outbound.request({ method: 'GET', url: `${origin}/65537`, timeoutMs: 5000 })
    expect(await failureKind(tooLong)).to.equal('too_large')
    const own = outbound.request({ method: 'GET', url: `${origin}/11`, timeoutMs: 5000, maxBytes: 10 })
    expect(await failureKind(own)).to.equal('too_large')
  })

  it('stops reading an endless answer and closes the connection', async () => {
    const gone = Promise.withResolvers<void>()
    await using peer = await startPeer((_request, response) => {
      response.on('close', gone.resolve)
      const push = () => void (response.write(Buffer.alloc(16_384)) ? setImmediate(push) : response.once('drain', push))
      push()
    })
    await using outbound = buildOutbound()

    const request = outbound.request({ method: 'GET', url: `http://127.0.0.1:${peer.port}/`, timeoutMs: 5000 })

    expect(await failureKind(request)).to.equal('too_large')
    await gone.promise
  })

  it('refuses endless headers', async () => {
    await using peer = await startPeer((_request, response) =>
      response.writeHead(200, { big: 'x'.repeat(20_000) }).end(),
    )
    await using outbound = buildOutbound()

    const request = outbound.request({ method: 'GET', url: `http://127.0.0.1:${peer.port}/`, timeoutMs: 5000 })

    expect(await failureKind(request)).to.equal('too_large')
  })

  it('ends at the deadline, whether the name, the headers or the body is slow', async () => {
    await using silent = await startPeer(() => {})
    await using early = await startPeer((_request, response) => {
      const timer = setInterval(() => response.writeEarlyHints({ link: '</a>; rel=preload' }), 5)
      response.on('close', () => clearInterval(timer))
    })
    await using dripping = await startPeer((_request, response) => drip(response, '.'))
    await using outbound = buildOutbound({}, () => new Promise(() => {}))
    const urls = ['http://never.test/', ...[silent, early, dripping].map(({ port }) => `http://127.0.0.1:${port}/`)]

    const kinds = await Promise.all(
      urls.map((url) => failureKind(outbound.request({ method: 'GET', url, timeoutMs: 60 }))),
    )

    expect(kinds).to.deep.equal(['timeout', 'timeout', 'timeout', 'timeout'])
  })

  it('ends with the reason of the signal of its caller, while other requests go on', async () => {
    const question = Promise.withResolvers<void>()
    await using silent = await startPeer(() => question.resolve())
    await using healthy = await startPeer((_request, response) => response.end('fine'))
    await using outbound = buildOutbound()
    const caller = new AbortController()
    const url = `http://127.0.0.1:${silent.port}/`

    const stalled = outbound.request({ method: 'GET', url, timeoutMs: 60_000, signal: caller.signal })
    await question.promise
    const answer = await outbound.request({ method: 'GET', url: `http://127.0.0.1:${healthy.port}/`, timeoutMs: 5000 })
    caller.abort(new Error('given up'))

    expect(answer.body.toString()).to.equal('fine')
    expect(await stalled.catch((error: unknown) => error)).to.include({ message: 'given up' })
  })

  it('tells a name that name servers do not know from name servers that are silent', async () => {
    const failWith = (code: string) => async () => {
      await using outbound = buildOutbound({}, () => Promise.reject(Object.assign(new Error(code), { code })))
      return await failureKind(outbound.request({ method: 'GET', url: 'https://unknown.test/', timeoutMs: 5000 }))
    }
    const kinds = await Promise.all(['ENOTFOUND', 'ENODATA', 'ETIMEOUT'].map((code) => failWith(code)()))

    expect(kinds).to.deep.equal(['unresolved', 'unresolved', 'unreachable'])
  })

  it('fails as unreachable when the connection is refused, the name is not resolved or the peer closes the connection', async () => {
    const gone = await startPeer(() => {})
    await gone[Symbol.asyncDispose]()
    await using closing = await startPeer((request) => request.socket.destroy())
    await using outbound = buildOutbound({}, () => Promise.reject(new Error('ENOTFOUND')))
    const urls = [`http://127.0.0.1:${gone.port}/`, 'https://unknown.test/', `http://127.0.0.1:${closing.port}/`]

    const kinds = await Promise.all(
      urls.map((url) => failureKind(outbound.request({ method: 'GET', url, timeoutMs: 5000 }))),
    )

    expect(kinds).to.deep.equal(['unreachable', 'unreachable', 'unreachable'])
  })

  it('ends as unreachable when the outbound is closed, and none begins afterwards', async () => {
    const question = Promise.withResolvers<void>()
    await using silent = await startPeer(() => question.resolve())
    const outbound = buildOutbound({}, async () => ['127.0.0.1'])
    const request = { method: 'GET', url: `http://a.test:${silent.port}/`, timeoutMs: 60_000 }
    const running = failureKind(outbound.request(request))
    await question.promise

    await outbound[Symbol.asyncDispose]()

    expect(await running).to.equal('unreachable')
    expect(await failureKind(outbound.request(request))).to.equal('unreachable')
  })
})
