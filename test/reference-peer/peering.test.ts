import { expect } from 'chai'
import { openNetwork, secretOfPage, sentBy, settle, states } from './network.ts'
import type { ReferencePeer } from './reference-peer.ts'

const off = { settings: { autoAcceptPeering: false } }

const requestId = (peer: ReferencePeer) => peer.requests()[0]?.id ?? ''

function secretsAreEqual(a: ReferencePeer, b: ReferencePeer): boolean {
  return a.peer(b.origin)?.secret === b.peer(a.origin)?.secret
}

describe('the four combinations (wire: 2.4)', () => {
  it('R on, I on: an admin initiates, and the secret is proven', async () => {
    await using network = openNetwork()
    const [i, r] = [await network.start('i.example'), await network.start('r.example')]

    const outcome = await i.initiate(r.origin)
    await settle(i, r)

    expect(outcome).to.deep.include({ status: 200 })
    expect(states(i, r)).to.deep.equal(['active', 'active'])
    expect(secretsAreEqual(i, r)).to.equal(true)
    expect(sentBy(i).slice(0, 2)).to.deep.equal(['federation/peer/accept 200', 'federation/epoch 200'])
  })

  it('R on, I off: the same', async () => {
    await using network = openNetwork()
    const [i, r] = [await network.start('i.example', off), await network.start('r.example')]

    await i.initiate(r.origin)

    expect(states(i, r)).to.deep.equal(['active', 'active'])
  })

  it('R on: a user who connects causes it, without proof', async () => {
    await using network = openNetwork()
    const [i, r] = [await network.start('i.example'), await network.start('r.example')]

    const outcome = await i.ensure(r.origin)
    await settle(i, r)

    expect(outcome.body).to.include({ peeringStatus: 'active' })
    expect(sentBy(i)).to.not.include('federation/epoch 200')
    expect(sentBy(r, '/api/federation/sync')).to.have.length(3)
  })

  it('R off, I on: the approval brings a new secret', async () => {
    await using network = openNetwork()
    const i = await network.start('i.example', { newSecret: () => secretOfPage })
    const r = await network.start('r.example', off)

    const outcome = await i.initiate(r.origin)
    const waiting = [states(i, r), i.peer(r.origin)?.approvalToken === r.requests()[0]?.approvalToken]
    const approval = await r.approve(requestId(r))

    expect([outcome.status, approval.status]).to.deep.equal([202, 200])
    expect(waiting).to.deep.equal([['awaiting_approval', undefined], true])
    expect(states(i, r)).to.deep.equal(['active', 'active'])
    expect(secretsAreEqual(i, r)).to.equal(true)
    expect(i.peer(r.origin)?.secret).to.not.equal(secretOfPage)
    expect(r.requests()).to.deep.equal([])
  })

  it('R off, I off: the right token completes it', async () => {
    await using network = openNetwork()
    const [i, r] = [await network.start('i.example', off), await network.start('r.example', off)]

    await i.initiate(r.origin)
    await r.approve(requestId(r))

    expect(states(i, r)).to.deep.equal(['active', 'active'])
  })

  it('R off, I off: with a wrong token both wait, and the approval of the other side ends it', async () => {
    await using network = openNetwork()
    const [i, r] = [await network.start('i.example', off), await network.start('r.example', off)]
    await i.initiate(r.origin)
    const kept = i.peer(r.origin)
    i.addPeer(r.origin, { ...kept, status: 'awaiting_approval', secret: kept?.secret ?? '', approvalToken: 'another' })

    await r.approve(requestId(r))
    const both = states(i, r)
    await i.approve(requestId(i))

    expect(both).to.deep.equal(['awaiting_approval', 'awaiting_approval'])
    expect(states(i, r)).to.deep.equal(['active', 'active'])
    expect(secretsAreEqual(i, r)).to.equal(true)
  })

  it("I off: a user's wish waits for the own admin, and nothing is sent before", async () => {
    await using network = openNetwork()
    const [i, r] = [await network.start('i.example', off), await network.start('r.example', off)]

    const wish = await i.ensure(r.origin)
    const sentBefore = sentBy(i)
    await i.approve(requestId(i))
    await r.approve(requestId(r))

    expect(wish.body).to.deep.equal({ peeringStatus: 'admin_required' })
    expect(sentBefore).to.deep.equal([])
    expect(states(i, r)).to.deep.equal(['active', 'active'])
  })
})

describe('denial and expiry (wire: 2.2, 2.4)', () => {
  it('leaves both sides with a rejected row', async () => {
    await using network = openNetwork()
    const [i, r] = [await network.start('i.example'), await network.start('r.example', off)]
    await i.initiate(r.origin)

    const denial = await r.deny(requestId(r), 'No')

    expect(denial.status).to.equal(200)
    expect(states(i, r)).to.deep.equal(['rejected', 'rejected'])
    expect(secretsAreEqual(i, r)).to.equal(true)
    expect(r.requests()).to.deep.equal([])
  })

  it('takes no effect until the other side has taken it', async () => {
    await using network = openNetwork()
    const [i, r] = [await network.start('i.example'), await network.start('r.example', off)]
    await i.initiate(r.origin)
    i.addFault({ path: '/api/federation/peer/denied', answer: { status: 404, body: {} } })

    const denial = await r.deny(requestId(r))

    expect(denial.status).to.equal(502)
    expect(r.requests()).to.have.length(1)
    expect(states(i, r)).to.deep.equal(['awaiting_approval', undefined])
  })

  it('repeats an expiry every hour until it is taken, and keeps no row', async () => {
    await using network = openNetwork()
    const [i, r] = [await network.start('i.example'), await network.start('r.example', off)]
    await i.initiate(r.origin)
    network.advance(30 * 24 * 60 * 60_000)
    i.addFault({ path: '/api/federation/peer/denied', answer: { status: 500, body: {} } })

    await r.hourTick()
    const afterFirst = r.requests().length
    await r.hourTick()

    expect([afterFirst, r.requests().length]).to.deep.equal([1, 0])
    expect(states(i, r)).to.deep.equal(['rejected', undefined])
    expect(i.log.at(-1)?.body).to.include('"reason":"expired"')
  })

  it('lets a rejected peer come in again where offers are accepted, and not where an admin is asked', async () => {
    await using network = openNetwork()
    const [i, r] = [await network.start('i.example'), await network.start('r.example', off)]
    await i.initiate(r.origin)
    await r.deny(requestId(r))

    const refused = await i.initiate(r.origin)
    r.settings.autoAcceptPeering = true
    const taken = await i.initiate(r.origin)

    expect([refused.status, taken.status]).to.deep.equal([502, 200])
    expect(states(i, r)).to.deep.equal(['active', 'active'])
  })
})
