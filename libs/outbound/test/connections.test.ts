import { expect } from 'chai'
import { createConnections } from '../src/connections.ts'
import { buildOutbound, startPeer } from './harness.ts'

describe('connections', () => {
  it('are reused for the same origin', async () => {
    await using peer = await startPeer((_request, response) => response.end())
    await using outbound = buildOutbound({}, async () => ['127.0.0.1'])
    const request = { method: 'POST', url: `http://a.test:${peer.port}/`, body: '{}', timeoutMs: 5000 }

    for (let sent = 0; sent < 10; sent += 1) await outbound.request(request)

    // undici may open a second one before it has noticed that the first is free again
    expect(peer.connections).to.be.within(1, 2)
  })

  it('are not shared by origins at the same address', async () => {
    await using peer = await startPeer((request, response) => response.end(request.headers.host))
    const place = { address: '127.0.0.1', port: peer.port }
    await using outbound = buildOutbound({ resolve: { 'a.test': place, 'b.test': place } })

    const first = await outbound.request({ method: 'GET', url: 'http://a.test/', timeoutMs: 5000 })
    const second = await outbound.request({ method: 'GET', url: 'http://b.test/', timeoutMs: 5000 })

    expect([String(first.body), String(second.body)]).to.deep.equal(['a.test', 'b.test'])
    expect(peer.connections).to.equal(2)
  })

  it('go to another address of the name when one refuses', async () => {
    await using peer = await startPeer((request, response) => response.end(request.headers.host))
    await using outbound = buildOutbound({}, async () => ['127.0.0.2', '127.0.0.1', '127.0.0.3'])
    const url = `http://a.test:${peer.port}/`

    const answer = await outbound.request({ method: 'GET', url, timeoutMs: 5000 })

    expect(String(answer.body)).to.equal(`a.test:${peer.port}`)
  })

  it('follow a name that resolves to another address', async () => {
    await using before = await startPeer((_request, response) => response.end('before'))
    await using _after = await startPeer((_request, response) => response.end('after'), {
      host: '127.0.0.2',
      port: before.port,
    })
    let address = '127.0.0.1'
    await using outbound = buildOutbound({}, async () => [address])
    const request = { method: 'GET', url: `http://a.test:${before.port}/`, timeoutMs: 5000 }

    const first = await outbound.request(request)
    address = '127.0.0.2'
    const second = await outbound.request(request)

    expect([String(first.body), String(second.body)]).to.deep.equal(['before', 'after'])
  })

  it('do not disturb a request under way when the name resolves to another address', async () => {
    const question = Promise.withResolvers<() => void>()
    await using before = await startPeer((_request, response) => question.resolve(() => response.end('before')))
    await using _after = await startPeer((_request, response) => response.end('after'), {
      host: '127.0.0.2',
      port: before.port,
    })
    let address = '127.0.0.1'
    await using outbound = buildOutbound({}, async () => [address])
    const request = { method: 'GET', url: `http://a.test:${before.port}/`, timeoutMs: 5000 }

    const first = outbound.request(request)
    const answer = await question.promise
    address = '127.0.0.2'
    const second = await outbound.request(request)
    answer()

    expect([String((await first).body), String(second.body)]).to.deep.equal(['before', 'after'])
  })

  it('are dropped for origins that cannot be reached', async () => {
    const gone = await startPeer(() => {})
    await gone[Symbol.asyncDispose]()
    await using connections = createConnections()
    const target = { origin: `http://127.0.0.1:${gone.port}`, addresses: ['127.0.0.1'], port: undefined }

    const request = connections.withPool(target, (pool) => pool.request({ path: '/', method: 'GET' }))

    expect(await request.catch((error: { code: string }) => error.code)).to.equal('ECONNREFUSED')
    expect(connections.size).to.equal(0)
  })

  it('are dropped once the peer has closed them', async () => {
    const peer = await startPeer((_request, response) => response.end())
    await using connections = createConnections()
    const target = { origin: `http://127.0.0.1:${peer.port}`, addresses: ['127.0.0.1'], port: undefined }
    const disconnected = Promise.withResolvers<void>()

    await connections.withPool(target, async (pool) => {
      pool.on('disconnect', () => setImmediate(disconnected.resolve))
      await (await pool.request({ path: '/', method: 'GET' })).body.dump()
    })
    const whileOpen = connections.size
    await peer[Symbol.asyncDispose]()
    await disconnected.promise

    expect([whileOpen, connections.size]).to.deep.equal([1, 0])
  })
})
