import type { ServerResponse } from 'node:http'
import { createReceiptKeys, signReceipt } from '@gatehouse/auth'
import { deleteIdentitiesAtPeers, type DeletionMode } from '@gatehouse/contracts'
import { createOutbound, parseCidrs, type OutboundRequest } from '@gatehouse/outbound'
import { expect } from 'chai'
import { readSignedHeaders, verifySignature } from '../src/peers/signature.ts'
import { buildPeer, secretOfPeer, sendJson, startFakePeer, type FakePeer } from './fake-peer.ts'
import { startTestInstance, type TestInstance } from './harness.ts'

const rosa = '4242'
const requestId = 'a-request'
const names = ['b', 'c', 'slow']
const drips = 'a body that drips'

describe('federation-identity/delete: deletes an identity on other instances and', () => {
  let instance: TestInstance
  let peers: FakePeer[]
  let asked: OutboundRequest[]

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
  })
  after(() => instance[Symbol.asyncDispose]())
  beforeEach(async () => {
    asked = []
    peers = await Promise.all(names.map((name) => startFakePeer(name)))
    for (const peer of peers) await buildPeer(instance, { host: peer.host, origin: peer.origin })
  })
  afterEach(async () => {
    await Promise.all(peers.map((peer) => peer[Symbol.asyncDispose]()))
  })

  const fanOut = async (origins: string[], mode: DeletionMode = 'soft', durable?: boolean) => {
    const options = { requestId, timeoutMs: 20_000 }
    const asked = { userId: rosa, origins, mode, durable }
    const { results } = await instance.deps.bus.request(deleteIdentitiesAtPeers, asked, options)
    expect(results.map(({ origin }) => origin)).to.deep.equal(origins)
    return Object.fromEntries(results.map(({ origin, result }) => [origin, result]))
  }

  it('sends each a signed request that says whose identity it is', async () => {
    const results = await fanOut(peers.map(({ origin }) => origin))

    expect(results).to.deep.equal(Object.fromEntries(peers.map(({ origin }) => [origin, { success: true }])))
    for (const peer of peers) {
      const [request, ...more] = peer.received
      const signed = readSignedHeaders(request!.headers)!
      const { verdict } = verifySignature({
        secrets: [secretOfPeer],
        body: request!.body,
        signed,
        now: instance.clock.now(),
      })
      expect(more).to.deep.equal([])
      expect(request).to.include({ method: 'DELETE', path: '/api/federation/identity' })
      expect(JSON.parse(request!.body.toString())).to.deep.equal({
        homeUserId: rosa,
        homeInstance: 'a.test',
        mode: 'soft',
      })
      expect([signed.origin, verdict]).to.deep.equal([instance.origin, 'ok'])
      expect(request?.headers['x-request-id']).to.equal(requestId)
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

    const results = await fanOut([slow.origin, peers[0]!.origin, peers[1]!.origin])

    expect(results).to.deep.equal({
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

      const results = await fanOut([peer.origin, other.origin])

      expect(results).to.deep.equal({ [peer.origin]: result, [other.origin]: { success: true } })
    })
  }

  it('asks active peers only', async () => {
    const [active] = peers as [FakePeer]
    await buildPeer(instance, { host: 'p.example', status: 'pending' })
    await buildPeer(instance, { host: 'r.example', status: 'revoked' })
    const others = ['https://p.example', 'https://r.example', 'https://stranger.example', 'no origin', '__proto__']

    const results = await fanOut([active.origin, ...others])

    expect(results[active.origin]).to.deep.equal({ success: true })
    for (const origin of others) {
      const result = Object.getOwnPropertyDescriptor(results, origin)?.value as unknown
      expect(result).to.deep.equal({ success: false, error: 'no_active_peer' })
    }
    expect(asked).to.have.length(1)
  })

  /** Contract: 7, Deletion orders. */
  it('asks unreachable peers too where the deletion is durable, and tells what waits and what was decided', async () => {
    const [active, away, broken] = peers as [FakePeer, FakePeer, FakePeer]
    const set = 'update peers set status = ? where origin = ?'
    await instance.deps.orm.em.fork().execute(set, ['unreachable', away.origin])
    await buildPeer(instance, { host: 'n.example', status: 'needs_attention' })
    active.answer = (_request, response) => void sendJson(response, 404, { error: 'Gone' })
    broken.answer = (_request, response) => void sendJson(response, 503, { error: 'Later' })
    const origins = [active.origin, away.origin, broken.origin, 'https://n.example', 'https://stranger.example']

    const plain = await fanOut(origins)
    const results = await fanOut(origins, 'full', true)

    expect(plain[away.origin]).to.deep.equal({ success: false, error: 'no_active_peer' })
    expect(plain[broken.origin]).to.deep.equal({ success: false, error: 'Later' })
    expect(results).to.deep.equal({
      [active.origin]: { success: false, error: 'Gone' },
      [away.origin]: { success: true },
      [broken.origin]: { success: false, error: 'Later', order: 'waiting' },
      'https://n.example': { success: false, error: 'unreachable', order: 'waiting' },
      'https://stranger.example': { success: false, error: 'no_active_peer' },
    })
  })

  /** Contract: 7, Receipts. */
  it('keeps a receipt that fits and that a published key signed, and takes every other as an acknowledgement', async () => {
    const [peer] = peers as [FakePeer]
    const [own, foreign] = [createReceiptKeys('x'.repeat(32)), createReceiptKeys('y'.repeat(32))]
    const receipt = { homeUserId: rosa, mode: 'full' as const, deletedAt: 7, origin: peer.origin }
    const answer = async (signed: object) => {
      peer.answer = ({ path }, response) =>
        sendJson(response, 200, path.endsWith('/identity') ? { success: true, ...signed } : { keys: own.published })
      return (await fanOut([peer.origin], 'full', true))[peer.origin]
    }
    const refused = [
      await answer(signReceipt(foreign, receipt)),
      await answer(signReceipt(own, { ...receipt, homeUserId: '1' })),
      await answer(signReceipt(own, { ...receipt, origin: 'https://other.example' })),
      await answer({ ...signReceipt(own, receipt), receipt: { ...receipt, deletedAt: 8 } }),
      await answer({ receipt: 'none' }),
      await answer({ ...signReceipt(own, receipt), signature: `${signReceipt(own, receipt).signature}\0` }),
    ]

    expect(await answer(signReceipt(own, receipt))).to.deep.equal({
      success: true,
      receipt: { ...signReceipt(own, receipt), publicKey: own.published[0] },
    })
    expect(refused).to.deep.equal(Array(refused.length).fill({ success: true }))
  })

  /** Contract: 7, Fan-out. */
  it('asks an instance once however often and in whatever spelling it is named', async () => {
    const [peer] = peers as [FakePeer]
    const spellings = [peer.origin, `${peer.origin}/`, peer.origin.toUpperCase(), peer.origin]

    const results = await fanOut(spellings)

    expect(peer.received).to.have.length(1)
    expect(Object.keys(results)).to.have.members([...new Set(spellings)])
    expect(Object.values(results)).to.deep.equal(Array(3).fill({ success: true }))
  })

  it('names as many owned spaces as fit into one message of the bus', async () => {
    const [peer] = peers as [FakePeer]
    const ownedSpaces = Array.from({ length: 800 }, (_, index) => ({ id: String(index), name: 'A space of rosa' }))
    peer.answer = (_request, response) => void sendJson(response, 409, { error: 'owns_spaces', ownedSpaces })

    const { [peer.origin]: result } = await fanOut([peer.origin])

    expect(JSON.stringify(result).length).to.be.within(7_500, 8_100)
    expect(result).to.have.nested.property('ownedSpaces[0]').that.deep.equals(ownedSpaces[0])
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
