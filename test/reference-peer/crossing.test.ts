import { expect } from 'chai'
import { latch, openNetwork, sentBy, settle, states } from './network.ts'

const accept = '/api/federation/peer/accept'
const other = 'https://r.example'
const off = { settings: { autoAcceptPeering: false } }
const event = { eventType: 'friend_add', contextType: 'friend', messageId: '1' }

describe('lost answers and crossing offers (wire: 2.5)', () => {
  it("B forgets after a lost 200 to its admin's initiate, and then meets 409", async () => {
    await using network = openNetwork()
    const [i, r] = [await network.start('i.example'), await network.start('r.example')]
    r.addFault({ path: accept, dropAnswer: true })

    const lost = await i.initiate(other)
    const afterLoss = states(i, r)
    const again = await i.initiate(other)

    expect([lost.status, again.status]).to.deep.equal([502, 409])
    expect(afterLoss).to.deep.equal([undefined, 'active'])
    expect(states(i, r)).to.deep.equal([undefined, 'active'])
  })

  it("a lost 200 to an approval leaves the approver's request, and the other side active", async () => {
    await using network = openNetwork()
    const [i, r] = [await network.start('i.example'), await network.start('r.example', off)]
    await i.initiate(other)
    i.addFault({ path: accept, dropAnswer: true })

    const outcome = await r.approve(r.requests()[0]?.id ?? '')

    expect(outcome.status).to.equal(502)
    expect(r.requests()).to.have.length(1)
    expect(states(i, r)).to.deep.equal(['active', undefined])
  })

  it('a placeholder whose 200 was lost offers the same secret for ever', async () => {
    await using network = openNetwork()
    const [i, r] = [await network.start('i.example'), await network.start('r.example')]
    r.addFault({ path: accept, dropAnswer: true })
    i.queueEvent(other, event)

    for (let count = 0; count < 3; count += 1) await i.tick()

    expect(states(i, r)).to.deep.equal(['pending', 'active'])
    expect(i.peer(other)?.secret).to.equal(r.peer(i.origin)?.secret)
    expect(sentBy(i)).to.deep.equal([
      'federation/peer/accept unreachable',
      'federation/peer/accept 409',
      'federation/peer/accept 409',
    ])
  })

  it('two crossing offers end active with different secrets, and park after five refusals', async () => {
    await using network = openNetwork()
    const [a, b] = [await network.start('a.example'), await network.start('b.example')]
    const both = latch()
    let arrived = 0
    const arrive = async () => {
      arrived += 1
      if (arrived === 2) both.open()
      await both.opened
    }
    for (const peer of [a, b]) peer.addFault({ path: accept, before: arrive })

    await Promise.all([a.initiate(b.origin), b.initiate(a.origin)])
    await settle(a, b)
    const crossed = states(a, b)
    const erin = a.addUser({ username: 'erin' })
    for (const status of ['online', 'idle', 'dnd', 'online', 'offline']) {
      a.setStatus(erin, status)
      await a.tick()
    }
    await settle(a, b)

    expect(crossed).to.deep.equal(['active', 'active'])
    expect(a.peer(b.origin)?.secret).to.not.equal(b.peer(a.origin)?.secret)
    expect(sentBy(a, '/api/federation/relay')).to.deep.equal(Array.from({ length: 5 }, () => 'federation/relay 401'))
    expect(a.peer(b.origin)).to.include({ status: 'needs_attention', attention: 'deliveries_refused' })
  })

  for (const act of ['initiate', 'ensure'] as const) {
    it(`${act} deletes the row that a crossing offer has made active when its own offer is refused`, async () => {
      await using network = openNetwork()
      const [a, b] = [await network.start('a.example'), await network.start('r.example')]
      const crossing = async () => void (await b.initiate(a.origin))
      b.addFault({ path: accept, before: crossing, answer: { status: 409, body: {} } })

      await a[act](b.origin)

      expect(states(a, b)).to.deep.equal([undefined, 'active'])
    })
  }

  it("keeps a placeholder's row that a crossing offer has made active", async () => {
    await using network = openNetwork()
    const [a, b] = [await network.start('a.example'), await network.start('r.example')]
    const crossing = async () => void (await b.initiate(a.origin))
    b.addFault({ path: accept, before: crossing, answer: { status: 409, body: {} } })
    a.queueEvent(b.origin, event)

    await a.tick()

    expect(states(a, b)).to.deep.equal(['active', 'active'])
  })

  it('keeps the secret of a crossing offer when its own is answered 202', async () => {
    await using network = openNetwork()
    const [a, b] = [await network.start('a.example'), await network.start('r.example')]
    const crossing = async () => void (await b.initiate(a.origin))
    b.addFault({ path: accept, before: crossing, answer: { status: 202, body: { approvalToken: 'token' } } })

    await a.initiate(b.origin)

    expect(states(a, b)).to.deep.equal(['awaiting_approval', 'active'])
    expect(a.peer(b.origin)?.secret).to.equal(b.peer(a.origin)?.secret)
    expect(a.peer(b.origin)?.approvalToken).to.equal('token')
  })
})
