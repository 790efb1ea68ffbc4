import { expect } from 'chai'
import type { PeerStatus } from './instance.ts'
import { openNetwork, secretOfPage, send, sendSigned, startOfTime } from './network.ts'
import type { ReferencePeer } from './reference-peer.ts'

const origin = 'https://gate.example'
const wrong = 'ff'.repeat(32)
const sync = { sinceTimestamp: 0, limit: 100 }

async function peerIn(network: ReturnType<typeof openNetwork>, status: PeerStatus, limits = false) {
  const peer = await network.start('nova.example', { settings: { limits } })
  peer.addPeer(origin, { status, secret: secretOfPage })
  return peer
}

/** Fifteen minutes and one millisecond old. */
const stale = startOfTime - 900_001

describe('the order of the checks (wire: 1)', () => {
  it('headers before the state, the state before the limit, the limit before the signature', async () => {
    await using network = openNetwork()
    const peer = await peerIn(network, 'active', true)
    const relay = { version: 1, sourceInstance: origin, events: [] }

    const noHeaders = await send(peer, { path: '/api/federation/relay', body: relay })
    const unknown = await sendSigned(peer, 'relay', { origin: 'https://else.example', secret: wrong })
    const badSignature = await sendSigned(peer, 'relay', { origin, secret: wrong })
    for (let count = 1; count < 90; count += 1) await sendSigned(peer, 'relay', { origin, body: relay })
    const limited = await sendSigned(peer, 'relay', { origin, secret: wrong })

    const statuses = [noHeaders, unknown, badSignature, limited].map(({ status }) => status)
    expect(statuses).to.deep.equal([401, 403, 401, 429])
    expect(limited.headers).to.not.have.property('retry-after')
  })

  it('one answer for a wrong signature and for a wrong age', async () => {
    await using network = openNetwork()
    const peer = await peerIn(network, 'active')

    const unsigned = await sendSigned(peer, 'sync', { origin, secret: wrong, body: sync })
    const old = await sendSigned(peer, 'sync', { origin, timestamp: stale, body: sync })

    expect([unsigned.status, unsigned.text]).to.deep.equal([401, old.text])
  })

  it('a nonce is used up even when the body is refused, and for its origin alone', async () => {
    await using network = openNetwork()
    const peer = await peerIn(network, 'active')
    peer.addPeer('https://else.example', { status: 'active', secret: secretOfPage })

    const refused = await sendSigned(peer, 'sync', { origin, nonce: 'n', body: { limit: 501 } })
    const repeated = await sendSigned(peer, 'sync', { origin, nonce: 'n', body: sync })
    const elsewhere = await sendSigned(peer, 'sync', { origin: 'https://else.example', nonce: 'n', body: sync })

    expect([refused.status, repeated.status, elsewhere.status]).to.deep.equal([400, 409, 200])
  })

  it('only relay and sync oblige to a nonce, and then everything asks for one', async () => {
    await using network = openNetwork()
    const peer = await peerIn(network, 'active')
    const lookup = { origin, body: { username: 'erin' } }

    await sendSigned(peer, 'users/lookup', lookup)
    const before = await sendSigned(peer, 'users/lookup', { ...lookup, nonce: null })
    await sendSigned(peer, 'sync', { origin, body: sync })
    const after = await sendSigned(peer, 'users/lookup', { ...lookup, nonce: null })

    expect([before.status, after.status]).to.deep.equal([404, 401])
  })

  it('forgets nonces after 15 minutes and in a restart', async () => {
    await using network = openNetwork()
    const peer = await peerIn(network, 'active')
    const ahead = { origin, nonce: 'n', body: sync, timestamp: startOfTime + 900_000 }

    await sendSigned(peer, 'sync', ahead)
    await peer.restart()
    const afterRestart = await sendSigned(peer, 'sync', ahead)
    network.advance(900_001)
    const later = await sendSigned(peer, 'sync', ahead)

    expect([afterRestart.status, later.status]).to.deep.equal([200, 200])
    expect(peer.peer(origin)?.status).to.equal('active')
  })

  it('limits the three lookups together, and says when to come back', async () => {
    await using network = openNetwork()
    const peer = await peerIn(network, 'active', true)
    const lookups = ['users/lookup', 'users/by-home-id', 'verify-attach-proof']
    for (let count = 0; count < 60; count += 1) await sendSigned(peer, lookups[count % 3] ?? '', { origin })

    const limited = await sendSigned(peer, 'users/by-home-id', { origin })

    expect([limited.status, limited.headers['retry-after']]).to.deep.equal([429, '60'])
  })
})

describe('the exceptions (wire: 1, 2.2)', () => {
  const answeredStates = [
    'pending',
    'awaiting_approval',
    'active',
    'unreachable',
    'needs_attention',
    'rejected',
  ] as const
  for (const status of answeredStates) {
    it(`epoch answers a peer that is ${status}`, async () => {
      await using network = openNetwork()
      const peer = await peerIn(network, status)

      const answer = await sendSigned(peer, 'epoch', { origin })

      expect(answer.body).to.deep.equal({ instanceId: peer.instanceId() })
    })
  }

  it('epoch refuses missing headers with 400, others as usual, and looks at no nonce', async () => {
    await using network = openNetwork()
    const peer = await peerIn(network, 'active')
    peer.addPeer('https://revoked.example', { status: 'revoked', secret: secretOfPage })

    const answers = [
      await send(peer, { path: '/api/federation/epoch', body: {} }),
      await sendSigned(peer, 'epoch', { origin: 'https://revoked.example' }),
      await sendSigned(peer, 'epoch', { origin: 'https://unknown.example' }),
      await sendSigned(peer, 'epoch', { origin, secret: wrong }),
      await sendSigned(peer, 'epoch', { origin, timestamp: stale }),
      await sendSigned(peer, 'epoch', { origin, nonce: 'n' }),
      await sendSigned(peer, 'epoch', { origin, nonce: 'n' }),
      await sendSigned(peer, 'epoch', { origin, nonce: null }),
    ]

    expect(answers.map(({ status }) => status)).to.deep.equal([400, 403, 403, 401, 401, 200, 200, 200])
    expect(answers[0]?.headers).to.not.have.property('x-federation-signature')
  })

  it('denied has an order of its own', async () => {
    await using network = openNetwork()
    const peer = await peerIn(network, 'active')
    peer.addPeer('https://waiting.example', { status: 'awaiting_approval', secret: secretOfPage })
    const denied = async (from: string, secret = secretOfPage) =>
      (await sendSigned(peer, 'peer/denied', { origin: from, secret, body: { origin: from } })).status

    const statuses = [
      (await send(peer, { path: '/api/federation/peer/denied', body: {} })).status,
      await denied('https://unknown.example', wrong),
      await denied(origin, wrong),
      await denied('https://waiting.example', wrong),
      await denied('https://waiting.example'),
    ]

    expect(statuses).to.deep.equal([401, 404, 409, 401, 200])
    expect(peer.peer('https://waiting.example')?.status).to.equal('rejected')
  })
})

describe('what the framework finds (wire: 1, errors)', () => {
  const path = '/api/federation/epoch'
  const json = { 'Content-Type': 'application/json' }

  async function fault(peer: ReferencePeer, body: string, headers: Record<string, string> = json) {
    const answer = await send(peer, { path, body, headers })
    return { status: answer.status, code: String(answer.body.code).slice(0, 4), keys: Object.keys(answer.body) }
  }

  it('refuses bodies before it looks at a header', async () => {
    await using network = openNetwork()
    const peer = await peerIn(network, 'active')
    const keys = ['statusCode', 'code', 'error', 'message']

    const faults = [
      await fault(peer, ''),
      await fault(peer, '{"a":'),
      await fault(peer, '{"__proto__":{}}'),
      await fault(peer, '{}', { 'Content-Type': 'text/html' }),
      await fault(peer, JSON.stringify({ a: 'a'.repeat(4096) })),
    ]

    expect(faults.map(({ status }) => status)).to.deep.equal([400, 400, 400, 415, 413])
    for (const found of faults) expect(found).to.deep.include({ code: 'FST_', keys })
  })

  it('knows no other path', async () => {
    await using network = openNetwork()
    const peer = await peerIn(network, 'active')

    const answer = await sendSigned(peer, 'stubs', { origin })

    expect(answer.status).to.equal(404)
    expect(answer.body).to.have.all.keys('error', 'statusCode')
  })

  it('allows 200 a minute for each address over everything else', async () => {
    await using network = openNetwork()
    const peer = await peerIn(network, 'active', true)
    const ask = () => send(peer, { method: 'GET', path: '/api/instance/info' })
    for (let count = 0; count < 200; count += 1) await ask()

    const limited = await ask()
    network.advance(60_000)
    const later = await ask()

    expect([limited.status, later.status]).to.deep.equal([429, 200])
  })
})
