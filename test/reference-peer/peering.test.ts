import { expect } from 'chai'
import { openNetwork, sentBy, settle, states } from './network.ts'
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

  it('R on: a user who connects causes it, without proof', async () => {
    await using network = openNetwork()
    const [i, r] = [await network.start('i.example'), await network.start('r.example')]

    const outcome = await i.ensure(r.origin)
    await settle(i, r)

    expect(outcome.body).to.include({ peeringStatus: 'active' })
    expect(sentBy(i)).to.not.include('federation/epoch 200')
    expect(sentBy(r, '/api/federation/sync')).to.have.length(3)
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
})

describe('denial and expiry (wire: 2.2, 2.4)', () => {
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
