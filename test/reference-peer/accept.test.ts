import { expect } from 'chai'
import type { PeerStatus } from './instance.ts'
import { openNetwork, secretOfPage, send, sendSigned } from './network.ts'
import type { ReferencePeer } from './reference-peer.ts'

const path = '/api/federation/peer/accept'
const origin = 'https://i.example'
const token = 'ab'.repeat(32)
const offered = 'cd'.repeat(32)

type Row = {
  state: PeerStatus | 'unknown'
  status: number
  then: PeerStatus | undefined
  token?: string
  code?: string
}

const rowsWhenOn: Row[] = [
  { state: 'unknown', status: 200, then: 'active' },
  { state: 'pending', status: 200, then: 'active' },
  { state: 'awaiting_approval', status: 200, then: 'active' },
  { state: 'unreachable', status: 200, then: 'active' },
  { state: 'active', status: 409, then: 'active', code: 'PEER_EXISTS_RESET_REQUIRED' },
  { state: 'needs_attention', status: 409, then: 'needs_attention', code: 'PEER_EXISTS_RESET_REQUIRED' },
  { state: 'rejected', status: 200, then: 'active' },
  { state: 'revoked', status: 403, then: 'revoked' },
]

const rowsWhenOff: Row[] = [
  { state: 'unknown', status: 202, then: undefined },
  { state: 'pending', status: 200, then: 'active' },
  { state: 'awaiting_approval', status: 200, then: 'active', token },
  { state: 'awaiting_approval', status: 202, then: 'awaiting_approval', token: 'another' },
  { state: 'awaiting_approval', status: 202, then: 'awaiting_approval' },
  { state: 'unreachable', status: 202, then: 'unreachable' },
  { state: 'active', status: 202, then: 'active' },
  { state: 'needs_attention', status: 202, then: 'needs_attention' },
  { state: 'rejected', status: 403, then: 'rejected', code: 'PEERING_REQUIRES_APPROVAL' },
  { state: 'revoked', status: 202, then: 'revoked' },
]

function offerOf(row: Row) {
  const approval = row.token === undefined ? {} : { approvalToken: row.token }
  return { sourceOrigin: origin, hmacSecret: offered, instanceName: 'I', instanceId: 'i-id', ...approval }
}

function prepare(peer: ReferencePeer, { state }: Row): void {
  if (state === 'unknown') return
  peer.addPeer(origin, { status: state, secret: secretOfPage, approvalToken: token, instanceId: 'i-id' })
}

describe('peer/accept (wire: 2.2)', () => {
  for (const [setting, rows] of Object.entries({ on: rowsWhenOn, off: rowsWhenOff })) {
    for (const row of rows) {
      const about = `${row.state}${row.token ? `, token ${row.token === token ? 'equal' : 'not equal'}` : ''}`
      it(`${setting}: ${about} → ${row.status}`, async () => {
        await using network = openNetwork()
        const peer = await network.start('r.example', { settings: { autoAcceptPeering: setting === 'on' } })
        prepare(peer, row)

        const answer = await send(peer, { path, body: offerOf(row) })

        expect(answer.status).to.equal(row.status)
        expect(answer.body.code).to.equal(row.code)
        expect(peer.peer(origin)?.status).to.equal(row.then)
        expect(peer.peer(origin)?.secret).to.equal(
          row.status === 200 ? offered : row.state === 'unknown' ? undefined : secretOfPage,
        )
        expect(peer.requests()).to.have.length(row.status === 202 ? 1 : 0)
      })
    }
  }

  it('answers with the bodies of the page, in their order', async () => {
    await using network = openNetwork()
    const peer = await network.start('r.example', { instanceName: 'R', instanceId: 'r-id' })
    const body = offerOf({ state: 'unknown', status: 200, then: 'active' })

    const accepted = await send(peer, { path, body })
    const existing = await send(peer, { path, body })
    peer.settings.autoAcceptPeering = false
    const queued = await send(peer, { path, body: { ...body, sourceOrigin: 'https://else.example' } })

    expect(accepted.text).to.equal('{"accepted":true,"instanceName":"R","instanceId":"r-id"}')
    expect(Object.keys(existing.body)).to.deep.equal([
      'accepted',
      'code',
      'error',
      'instanceName',
      'instanceId',
      'statusCode',
    ])
    expect(Object.keys(queued.body)).to.deep.equal(['queued', 'message', 'approvalToken'])
    expect(queued.body.approvalToken).to.match(/^[0-9a-f]{64}$/)
  })

  it('gives every 202 a token of its own, and keeps the last', async () => {
    await using network = openNetwork()
    const peer = await network.start('r.example', { settings: { autoAcceptPeering: false } })
    const body = { sourceOrigin: origin, hmacSecret: offered }

    const first = await send(peer, { path, body })
    const second = await send(peer, { path, body })

    expect(first.body.approvalToken).to.not.equal(second.body.approvalToken)
    expect(peer.requests().map((request) => request.approvalToken)).to.deep.equal([second.body.approvalToken])
  })

  it('does nothing and tells nobody when a request of an active peer is approved', async () => {
    await using network = openNetwork()
    const peer = await network.start('r.example', { settings: { autoAcceptPeering: false } })
    peer.addPeer(origin, { status: 'active', secret: secretOfPage })
    await send(peer, { path, body: { sourceOrigin: origin, hmacSecret: offered } })

    const approval = await peer.approve(peer.requests()[0]?.id ?? '')

    expect(approval.status).to.equal(200)
    expect(peer.peer(origin)?.secret).to.equal(secretOfPage)
    expect(peer.log.filter((entry) => entry.direction === 'sent')).to.deep.equal([])
  })

  const refusedOffers: Record<string, unknown> = {
    'no origin': { hmacSecret: offered },
    'no secret': { sourceOrigin: origin },
    'an empty secret': { sourceOrigin: origin, hmacSecret: '' },
    'plain http': { sourceOrigin: 'http://i.example', hmacSecret: offered },
    'no URL': { sourceOrigin: 'i.example', hmacSecret: offered },
    'no object': 'null',
  }
  for (const [name, body] of Object.entries(refusedOffers)) {
    it(`refuses with 400: ${name}`, async () => {
      await using network = openNetwork()
      const peer = await network.start('r.example')

      const answer = await send(peer, { path, body })

      expect(answer.status).to.equal(400)
      expect(answer.body).to.have.all.keys('error', 'statusCode')
    })
  }

  it('normalises the origin once, and compares it byte for byte from then on', async () => {
    await using network = openNetwork()
    const peer = await network.start('r.example')

    await send(peer, { path, body: { sourceOrigin: 'HTTPS://I.Example:443/path', hmacSecret: secretOfPage } })
    const asStored = await sendSigned(peer, 'epoch', { origin })
    const asOffered = await sendSigned(peer, 'epoch', { origin: 'HTTPS://I.Example:443/path' })

    expect(peer.peer(origin)?.status).to.equal('active')
    expect([asStored.status, asOffered.status]).to.deep.equal([200, 403])
  })

  it('takes http from this machine alone, and any text as a secret', async () => {
    await using network = openNetwork()
    const peer = await network.start('r.example')

    const answer = await send(peer, { path, body: { sourceOrigin: 'http://localhost:4000', hmacSecret: 'any' } })

    expect(answer.status).to.equal(200)
  })

  it('allows ten a minute for each address', async () => {
    await using network = openNetwork()
    const peer = await network.start('r.example', { settings: { limits: true } })
    const from = (ip: string) => send(peer, { path, body: '{}', headers: { 'X-Forwarded-For': `${ip}, 10.0.0.1` } })
    for (let count = 0; count < 10; count += 1) await from('192.0.2.1')

    const [eleventh, other] = [await from('192.0.2.1'), await from('192.0.2.2')]

    expect([eleventh.status, other.status]).to.deep.equal([429, 400])
    expect(eleventh.body).to.deep.equal({
      statusCode: 429,
      error: 'Too Many Requests',
      message: 'Rate limit exceeded',
      retryAfter: 60,
    })
  })
})
