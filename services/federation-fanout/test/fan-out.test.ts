import type { ServerResponse } from 'node:http'
import { forgetReplicatedInstances } from '@gatehouse/contracts'
import { createOutbound, parseCidrs, type OutboundRequest } from '@gatehouse/outbound'
import { expect } from 'chai'
import { readSignedHeaders, verifySignature } from '../src/peers/signature.ts'
import { buildPeer, secretOfPeer, sendJson, startFakePeer, type FakePeer } from './fake-peer.ts'
import { buildUser, startTestInstance, type TestAnswer, type TestInstance } from './harness.ts'

const path = '/api/users/@me/federation-identity/delete'
const rosa = { id: '4242', username: 'rosa' }
const names = ['b', 'c', 'slow']
const drips = 'a body that drips'

describe('federation-identity/delete: deletes an identity on other instances and', () => {
  let instance: TestInstance
  let peers: FakePeer[]
  let asked: OutboundRequest[]
  let forgotten: unknown[]

  before(async () => {
    const resolve = Object.fromEntries(names.map((name) => [`${name}.test`, { address: '127.0.0.1' }]))
    const outbound = createOutbound({ allowPrivate: parseCidrs('loopback'), resolve })
    // Keeps what it was told, and soon gives up on the slow peer, which never answers: the others have all their time.
    const impatient = {
      ...outbound,
      request: (request: OutboundRequest) => {
        asked.push(request)
        const isSlow = new URL(request.url).hostname === 'slow.test'
        return outbound.request(isSlow ? { ...request, timeoutMs: 400 } : request)
      },
    }
    instance = await startTestInstance('a', { overrides: { outbound: impatient } })
    await buildUser(instance, rosa)
    await buildUser(instance, { id: '4243', username: 'rosa@b.test', homeInstance: 'b.test' })
    await instance.deps.bus.respond(forgetReplicatedInstances, async (request) => {
      forgotten.push(request)
      return {}
    })
  })
  after(() => instance[Symbol.asyncDispose]())
  beforeEach(async () => {
    asked = []
    forgotten = []
    peers = await Promise.all(names.map((name) => startFakePeer(name)))
    for (const peer of peers) await buildPeer(instance, { host: peer.host, origin: peer.origin })
  })
  afterEach(async () => {
    await Promise.all(peers.map((peer) => peer[Symbol.asyncDispose]()))
  })

  const fanOut = (origins: unknown, given: { mode?: unknown; as?: string } = {}) =>
    instance.call('POST', path, {
      as: { id: given.as ?? rosa.id, username: 'rosa' },
      body: { origins, mode: given.mode ?? 'soft' },
    })
  const resultsOf = ({ body }: TestAnswer) => body.results as Record<string, unknown>

  it('sends each a signed request that says whose identity it is', async () => {
    const answer = await fanOut(peers.map(({ origin }) => origin))

    expect(answer.status).to.equal(200)
    expect(resultsOf(answer)).to.deep.equal(Object.fromEntries(peers.map(({ origin }) => [origin, { success: true }])))
    for (const peer of peers) {
      const [request, ...more] = peer.received
      const signed = readSignedHeaders(request!.headers)!
      const { verdict } = verifySignature({
        ...{ secrets: [secretOfPeer], body: request!.body, signed },
        now: instance.clock.now(),
      })
      expect(more).to.deep.equal([])
      expect(request).to.include({ method: 'DELETE', path: '/api/federation/identity' })
      expect(JSON.parse(request!.body.toString())).to.deep.equal({
        homeUserId: rosa.id,
        homeInstance: 'a.test',
        mode: 'soft',
      })
      expect([signed.origin, verdict]).to.deep.equal([instance.origin, 'ok'])
      expect(request?.headers['x-request-id']).to.equal(answer.headers.get('x-request-id'))
    }
  })

  it('gives each fifteen seconds, and none of them more because of another', async () => {
    const [, , slow] = peers as [FakePeer, FakePeer, FakePeer]
    const order: string[] = []
    const kept = Promise.withResolvers<ServerResponse>()
    for (const peer of peers) {
      peer.answer = (_request, response) => {
        order.push(peer.host)
        if (peer === slow) return kept.resolve(response)
        sendJson(response, 200, { success: true })
      }
    }

    const answer = await fanOut([slow.origin, peers[0]!.origin, peers[1]!.origin])

    expect(resultsOf(answer)).to.deep.equal({
      [slow.origin]: { success: false, error: 'timeout' },
      [peers[0]!.origin]: { success: true },
      [peers[1]!.origin]: { success: true },
    })
    expect(order).to.have.members(peers.map(({ host }) => host))
    expect(asked.map(({ timeoutMs }) => timeoutMs)).to.deep.equal([15_000, 15_000, 15_000])
  })

  const answers: Record<string, [(response: ServerResponse) => unknown, object]> = {
    'owned spaces': [
      (response) => sendJson(response, 409, { error: 'owns_spaces', ownedSpaces: [{ id: '1', name: 'Garden' }] }),
      { success: false, error: 'owns_spaces', ownedSpaces: [{ id: '1', name: 'Garden' }] },
    ],
    'a refusal': [
      (response) => sendJson(response, 403, { error: 'Not\u0007 you', statusCode: 403 }),
      { success: false, error: 'Not you' },
    ],
    'a limit': [
      (response) => sendJson(response, 429, { statusCode: 429, message: 'Rate limit exceeded' }),
      { success: false, error: 'Rate limit exceeded' },
    ],
    'a page': [
      (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>'),
      { success: false, error: 'The instance answered with status 200' },
    ],
    'a page of an error': [
      (response) => response.writeHead(502).end('<h1>Bad gateway</h1>'),
      { success: false, error: 'The instance answered with status 502' },
    ],
    'a redirect': [
      (response) => response.writeHead(301, { location: 'https://b.test' }).end(),
      { success: false, error: 'The instance answered with a redirect' },
    ],
    'a body without end': [
      (response) => {
        const fill = () => void (response.destroyed || response.write('x'.repeat(32_768), fill))
        fill()
      },
      { success: false, error: "The instance's answer was too long" },
    ],
    [drips]: [
      (response) => {
        response.writeHead(200).write('{')
        const drip = setInterval(() => response.write(' '), 20)
        response.on('close', () => clearInterval(drip))
      },
      { success: false, error: 'timeout' },
    ],
    'a closed connection': [(response) => response.destroy(), { success: false, error: 'unreachable' }],
  }
  for (const [name, [reply, result]] of Object.entries(answers)) {
    it(`tells what became of an instance that answers with ${name}`, async () => {
      const [other, , slow] = peers as [FakePeer, FakePeer, FakePeer]
      const peer = name === drips ? slow : peers[1]!
      peer.answer = (_request, response) => void reply(response)

      const answer = await fanOut([peer.origin, other.origin])

      expect(resultsOf(answer)).to.deep.equal({ [peer.origin]: result, [other.origin]: { success: true } })
    })
  }

  it('asks active peers only', async () => {
    const [active] = peers as [FakePeer]
    await buildPeer(instance, { host: 'p.example', status: 'pending' })
    await buildPeer(instance, { host: 'r.example', status: 'revoked' })
    const others = ['https://p.example', 'https://r.example', 'https://stranger.example', 'no origin', '__proto__']

    const answer = await fanOut([active.origin, ...others])

    expect(resultsOf(answer)[active.origin]).to.deep.equal({ success: true })
    for (const origin of others) {
      const result = Object.getOwnPropertyDescriptor(resultsOf(answer), origin)?.value as unknown
      expect(result).to.deep.equal({ success: false, error: 'no_active_peer' })
    }
    expect(asked).to.have.length(1)
  })

  /** Contract: 7, Fan-out. */
  it('asks an instance once however often and in whatever spelling it is named', async () => {
    const [peer] = peers as [FakePeer]
    const spellings = [peer.origin, `${peer.origin}/`, peer.origin.toUpperCase(), peer.origin]

    const answer = await fanOut(spellings)

    expect(peer.received).to.have.length(1)
    expect(Object.keys(resultsOf(answer))).to.have.members([...new Set(spellings)])
    expect(Object.values(resultsOf(answer))).to.deep.equal(Array(3).fill({ success: true }))
  })

  it('has the instances forgotten where the identity is gone, and no others', async () => {
    const [gone, kept] = peers as [FakePeer, FakePeer]
    kept.answer = (_request, response) => void sendJson(response, 500, { error: 'broken' })

    await fanOut([`${gone.origin}/`, kept.origin, 'https://stranger.example'])

    expect(forgotten).to.deep.equal([{ userId: rosa.id, origins: [gone.origin] }])
  })

  it('is 400 for what is no list of 1 to 100 origins, and for an unknown mode', async () => {
    const many = Array.from({ length: 101 }, (_, index) => `https://i${index}.example`)

    const refused = await Promise.all([
      fanOut([]),
      fanOut(many),
      fanOut('https://b.test'),
      fanOut([7]),
      fanOut(['https://b.test'], { mode: 'half' }),
    ])
    const hundred = await fanOut(many.slice(1))

    expect(refused.map(({ status }) => status)).to.deep.equal([400, 400, 400, 400, 400])
    expect(hundred.status).to.equal(200)
    expect(Object.keys(resultsOf(hundred))).to.have.length(100)
  })

  it('is for those who are at home here', async () => {
    const federated = await fanOut([peers[0]!.origin], { as: '4243' })
    const nobody = await instance.call('POST', path, { body: { origins: [peers[0]!.origin], mode: 'soft' } })

    expect([federated.status, nobody.status]).to.deep.equal([403, 401])
    expect(asked).to.deep.equal([])
  })

  it('is counted by result', async () => {
    const { text } = await instance.deps.metrics.render()

    expect(text).to.match(/gatehouse_federation_fanout_total\{result="success"\} [1-9]/)
    expect(text).to.match(/gatehouse_federation_fanout_total\{result="timeout"\} [1-9]/)
  })

  it('never logs a secret', () => {
    expect(JSON.stringify(instance.logLines)).to.not.include(secretOfPeer)
  })
})

describe('federation-identity/delete: while identity cannot be asked', () => {
  it('tells the results all the same', async () => {
    await using instance = await startTestInstance('a')
    await using peer = await startFakePeer('b')
    await buildUser(instance, rosa)
    await buildPeer(instance, { host: peer.host, origin: peer.origin })

    const answer = await instance.call('POST', path, {
      as: { id: rosa.id },
      body: { origins: [peer.origin], mode: 'full' },
    })

    expect(answer.body).to.deep.equal({ results: { [peer.origin]: { success: true } } })
    expect(instance.logLines.some(({ msg }) => /replicated instances not updated/.test(String(msg)))).to.equal(true)
  })
})
