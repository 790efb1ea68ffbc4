import { expect } from 'chai'
import { latch, openNetwork, secretOfPage, sentBy, states } from './network.ts'
import type { ReferencePeer } from './reference-peer.ts'

const accept = '/api/federation/peer/accept'
const other = 'https://r.example'
const off = { settings: { autoAcceptPeering: false } }
const event = { eventType: 'friend_add', contextType: 'friend', messageId: '1' }

type Answered = { name: string; status: number; body?: unknown }

const exists: Answered = { name: '409 with its code', status: 409, body: { code: 'PEER_EXISTS_RESET_REQUIRED' } }
const approval: Answered = { name: '403 with its code', status: 403, body: { code: 'PEERING_REQUIRES_APPROVAL' } }
const plain: Answered = { name: '403 without code', status: 403, body: {} }
const limited: Answered = { name: '429', status: 429, body: {} }

/** One that answers every offer as told. */
async function answering(network: ReturnType<typeof openNetwork>, { status, body }: Answered): Promise<ReferencePeer> {
  const remote = await network.start('r.example')
  remote.addFault({ path: accept, times: 100, answer: { status, body } })
  return remote
}

describe("answers to an admin's initiate (wire: 2.3)", () => {
  it('202: waits, with the token or with none', async () => {
    await using network = openNetwork()
    const i = await network.start('i.example')
    await answering(network, { name: '202', status: 202, body: '' })

    const outcome = await i.initiate(other)

    expect(outcome.status).to.equal(202)
    expect(i.peer(other)).to.include({ status: 'awaiting_approval', approvalToken: null })
  })

  it('200 without proof: needs attention', async () => {
    await using network = openNetwork()
    const i = await network.start('i.example')
    await answering(network, { name: '200', status: 200, body: { accepted: false } })

    const outcome = await i.initiate(other)

    expect(outcome.body).to.include({ verified: false })
    expect(i.peer(other)).to.include({ status: 'needs_attention', attention: 'repeer_incomplete' })
  })

  for (const [answer, status] of [
    [exists, 409],
    [approval, 502],
    [plain, 502],
  ] as const) {
    it(`${answer.name}: the row is deleted, and the admin is told ${status}`, async () => {
      await using network = openNetwork()
      const i = await network.start('i.example')
      await answering(network, answer)

      const outcome = await i.initiate(other)

      expect(outcome.status).to.equal(status)
      expect(i.peers()).to.deep.equal([])
    })
  }

  it('no connection and no answer in time: the row is deleted', async () => {
    await using network = openNetwork()
    const i = await network.start('i.example', { timeoutsMs: { message: 20 } })
    const slow = await network.start('r.example')
    const held = latch()
    slow.addFault({ path: accept, before: () => held.opened })
    network.resolve.set('https://dead.example', 'http://127.0.0.1:1')

    const outcomes = [await i.initiate(other), await i.initiate('https://dead.example')]
    held.open()

    expect(outcomes.map(({ status }) => status)).to.deep.equal([504, 502])
    expect(i.peers()).to.deep.equal([])
  })

  it('refuses before anything is sent', async () => {
    await using network = openNetwork()
    const i = await network.start('i.example')
    const initiateIn = async (status: Parameters<typeof i.addPeer>[1]['status']) => {
      i.addPeer(other, { status, secret: secretOfPage })
      return (await i.initiate(other)).status
    }

    const statuses = [
      await initiateIn('pending'),
      await initiateIn('awaiting_approval'),
      await initiateIn('unreachable'),
      (await i.initiate('http://r.example')).status,
    ]

    expect(statuses).to.deep.equal([409, 409, 500, 400])
    expect(i.log).to.deep.equal([])
  })
})

describe('answers to automatic offers (wire: 2.3)', () => {
  it('403 with its code is final, for a user and for a placeholder', async () => {
    await using network = openNetwork()
    const i = await network.start('i.example')
    await answering(network, approval)
    i.queueEvent(other, event)

    await i.tick()
    const outcome = await i.ensure(other)

    expect(outcome.body).to.include({ peeringStatus: 'rejected' })
    expect(i.peer(other)?.status).to.equal('rejected')
    expect(i.outbox()).to.deep.equal([])
    expect(sentBy(i)).to.have.length(1)
  })

  for (const answer of [plain, exists, limited]) {
    it(`${answer.name}: a row that this call made is deleted`, async () => {
      await using network = openNetwork()
      const i = await network.start('i.example')
      await answering(network, answer)

      const outcome = await i.ensure(other)

      expect(outcome.body).to.deep.equal({ peeringStatus: 'pending' })
      expect(i.peers()).to.deep.equal([])
    })

    it(`${answer.name}: a placeholder stays and is offered on every tick with the same secret`, async () => {
      await using network = openNetwork()
      const i = await network.start('i.example')
      const remote = await answering(network, answer)
      i.queueEvent(other, event)

      for (let count = 0; count < 3; count += 1) await i.tick()

      expect(new Set(remote.log.map(({ body }) => body))).to.have.property('size', 1)
      expect(remote.log).to.have.length(3)
      expect(i.peer(other)).to.include({ status: 'pending', placeholder: true })
    })
  }

  it('stops a placeholder when its traffic expires', async () => {
    await using network = openNetwork()
    const i = await network.start('i.example')
    const remote = await answering(network, plain)
    i.queueEvent(other, event)
    network.advance(30 * 24 * 60 * 60_000)

    await i.tick()

    expect(i.outbox()).to.deep.equal([])
    expect(remote.log).to.deep.equal([])
  })

  it('202 parks a placeholder', async () => {
    await using network = openNetwork()
    const i = await network.start('i.example')
    const r = await network.start('r.example', off)
    i.queueEvent(other, event)

    await i.tick()
    await i.tick()

    expect(states(i, r)).to.deep.equal(['awaiting_approval', undefined])
    expect(sentBy(i)).to.deep.equal(['federation/peer/accept 202'])
  })

  it('asks no admin of its own for a placeholder', async () => {
    await using network = openNetwork()
    const [i, r] = [await network.start('i.example', off), await network.start('r.example')]
    i.queueEvent(other, event)

    await i.tick()

    expect(states(i, r)).to.deep.equal(['active', 'active'])
  })

  it('are stopped by an own inbound request that waits', async () => {
    await using network = openNetwork()
    const [i, r] = [await network.start('i.example', off), await network.start('r.example', off)]
    await r.initiate(i.origin)
    i.queueEvent(other, event)

    await i.tick()
    const outcome = await i.ensure(other)

    expect(outcome.body).to.include({ peeringStatus: 'admin_required' })
    expect(sentBy(i)).to.deep.equal([])
  })
})

describe('answers to an offer of generation 2 (wire: 2.3)', () => {
  const inProgress: Answered = { name: 'in progress', status: 409, body: { code: 'PEER_HANDSHAKE_IN_PROGRESS' } }
  const revoked: Answered = { name: 'revoked', status: 403, body: { code: 'PEER_REVOKED' } }
  const revokedText = { error: 'Peering with this instance has been revoked', statusCode: 403 }
  const rows: [answer: Answered, status: string | undefined, statusReason?: string | null][] = [
    [{ name: '200 unproven', status: 200, body: { accepted: true } }, 'needs_attention', null],
    [{ name: '202', status: 202, body: {} }, 'awaiting_approval', null],
    [approval, 'rejected', 'denied_by_remote'],
    [revoked, 'rejected', 'revoked_by_remote'],
    [{ name: 'revoked by its text', status: 403, body: revokedText }, 'rejected', 'revoked_by_remote'],
    [exists, 'rejected', 'stale_peering_on_remote'],
    [inProgress, 'pending', null],
    ...[plain, limited, { name: '302', status: 302 }, { name: '500', status: 500, body: {} }].map(
      (answer): [Answered, undefined] => [answer, undefined],
    ),
  ]

  for (const [answer, status, statusReason] of rows) {
    it(`${answer.name} → ${status ?? 'no row'}`, async () => {
      await using network = openNetwork()
      const i = await network.start('i.example', { generation: 2 })
      await answering(network, answer)

      await i.initiate(other)

      expect(i.peer(other)?.status).to.equal(status)
      if (statusReason !== undefined) expect(i.peer(other)).to.include({ statusReason })
    })
  }
})

describe('the two generations between them (wire: 2.3)', () => {
  it('the first offers the second: rows that are unreachable, revoked or denied refuse now', async () => {
    await using network = openNetwork()
    const [first, second] = [await network.start('i.example'), await network.start('r.example', { generation: 2 })]
    const statuses: number[] = []

    for (const [status, statusReason] of [
      ['unreachable', null],
      ['revoked', null],
      ['rejected', 'denied_by_local_admin'],
    ] as const) {
      second.addPeer(first.origin, { status, statusReason, secret: secretOfPage })
      await first.initiate(other)
      statuses.push(Number(first.log.findLast(({ path }) => path === accept)?.status ?? 0))
    }

    expect(statuses).to.deep.equal([409, 403, 403])
    expect(first.peers()).to.deep.equal([])
  })

  it('the second offers the first: 200, proven by epoch, or parked without epoch', async () => {
    await using network = openNetwork()
    const [second, first] = [await network.start('i.example', { generation: 2 }), await network.start('r.example')]
    const seen: unknown[] = []

    for (const hasEpoch of [true, false]) {
      if (!hasEpoch) first.addFault({ path: '/api/federation/epoch', answer: { status: 404 } })
      await second.initiate(other)
      seen.push(second.peer(other)?.status)
      second.revoke(other)
      first.revoke(second.origin)
      first.forget(second.origin)
    }

    expect(seen).to.deep.equal(['active', 'needs_attention'])
  })
})
