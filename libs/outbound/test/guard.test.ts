import { expect } from 'chai'
import { createOutbound, mayReach } from '../src/index.ts'
import { buildOutbound, failureKind, startPeer } from './harness.ts'

describe('the guard', () => {
  it('refuses URLs that are not http or https, or carry credentials', async () => {
    await using outbound = buildOutbound()
    const urls = [
      '',
      'peer.example',
      'ftp://127.0.0.1/',
      'file:///etc/passwd',
      'https://u:p@a.test/',
      'https://u@a.test/',
    ]

    const kinds = await Promise.all(
      urls.map((url) => failureKind(outbound.request({ method: 'GET', url, timeoutMs: 5000 }))),
    )

    expect(new Set(kinds)).to.deep.equal(new Set(['invalid_url']))
  })

  /** Contract: 7, Outbound requests. */
  it('refuses private addresses in every spelling, over http and https', async () => {
    await using peer = await startPeer((_request, response) => response.end())
    await using outbound = buildOutbound({ allowPrivate: [] })
    const hosts = [
      '127.0.0.1',
      '2130706433',
      '0177.1',
      '0x7f000001',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '0.0.0.0',
      'localhost',
      'LOCALHOST.',
      'x.localhost',
    ]
    const urls = hosts.flatMap((host) => [`http://${host}:${peer.port}/`, `https://${host}:${peer.port}/`])

    const kinds = await Promise.all(
      urls.map((url) => failureKind(outbound.request({ method: 'GET', url, timeoutMs: 5000 }))),
    )

    expect(new Set(kinds)).to.deep.equal(new Set(['forbidden_address']))
    expect(peer.connections).to.equal(0)
    const closed = { allowPrivate: [], resolve: { 'peer.test': { address: '10.0.0.1' } } }
    expect([...urls, 'https://peer.test/'].filter((url) => mayReach(closed, url))).to.deep.equal([])
    expect(urls.filter((url) => !mayReach({ allowPrivate: ['loopback'], resolve: {} }, url))).to.deep.equal(
      urls.filter((url) => /0\.0\.0\.0/.test(url)),
    )
    expect(mayReach(closed, 'https://wiki.example/')).to.equal(true)
  })

  it('refuses plain http to public addresses', async () => {
    await using outbound = buildOutbound({}, async () => ['8.8.8.8'])

    expect(await failureKind(outbound.request({ method: 'GET', url: 'http://a.test/', timeoutMs: 5000 }))).to.equal(
      'forbidden_address',
    )
    expect(await failureKind(outbound.request({ method: 'GET', url: 'http://8.8.8.8/', timeoutMs: 5000 }))).to.equal(
      'forbidden_address',
    )
  })

  it('refuses a name when a single one of its addresses is forbidden', async () => {
    await using peer = await startPeer((_request, response) => response.end())
    await using outbound = buildOutbound({}, async () => ['127.0.0.1', '10.0.0.1'])

    const request = outbound.request({ method: 'GET', url: `http://a.test:${peer.port}/`, timeoutMs: 5000 })

    expect(await failureKind(request)).to.equal('forbidden_address')
    expect(peer.connections).to.equal(0)
  })

  it('resolves a name once and connects to what was checked, with the name as Host', async () => {
    await using peer = await startPeer((request, response) => response.end(request.headers.host))
    const answers = [['127.0.0.1'], ['10.0.0.1']]
    await using outbound = buildOutbound({}, async () => answers.shift() ?? [])

    const answer = await outbound.request({
      method: 'GET',
      url: `http://rebinding.test:${peer.port}/`,
      timeoutMs: 5000,
    })

    expect(answer.body.toString()).to.equal(`rebinding.test:${peer.port}`)
    expect(answers).to.deep.equal([['10.0.0.1']])
  })

  it('checks the places of the resolve table too', async () => {
    await using peer = await startPeer((_request, response) => response.end())
    const resolve = { 'a.test': { address: '127.0.0.1', port: peer.port } }
    await using closed = buildOutbound({ allowPrivate: ['10.0.0.0/8'], resolve })
    await using open = buildOutbound({ resolve })
    const request = { method: 'GET', url: 'http://A.test./', timeoutMs: 5000 }

    expect(await failureKind(closed.request(request))).to.equal('forbidden_address')
    expect((await open.request(request)).status).to.equal(200)
    expect(peer.connections).to.equal(1)
  })

  it('follows no redirect', async () => {
    await using secret = await startPeer((_request, response) => response.end('secret'))
    await using peer = await startPeer((_request, response) =>
      response.writeHead(302, { location: `http://127.0.0.1:${secret.port}/` }).end(),
    )
    await using outbound = buildOutbound()

    const request = outbound.request({ method: 'GET', url: `http://127.0.0.1:${peer.port}/`, timeoutMs: 5000 })

    expect(await failureKind(request)).to.equal('redirect')
    expect(secret.connections).to.equal(0)
  })

  it('does not start with a config that it cannot read', () => {
    expect(() => createOutbound({ allowPrivate: ['10/8'], resolve: {} })).to.throw('"10/8"')
    expect(() => createOutbound({ allowPrivate: [], resolve: { 'a/b': { address: '127.0.0.1' } } })).to.throw('"a/b"')
  })
})
