import { expect } from 'chai'
import { joinPeers, openNetwork, sentBy } from './network.ts'
import type { ReferencePeer } from './reference-peer.ts'

const path = '/api/federation/relay'
const minuteMs = 60_000

async function startSender(network: ReturnType<typeof openNetwork>) {
  const [nova, gate] = [await network.start('nova.example'), await network.start('gate.example')]
  joinPeers(nova, gate)
  return { nova, gate }
}

const event = (messageId: string) => ({ eventType: 'friend_add', contextType: 'friend', messageId })

const relays = (peer: ReferencePeer) => sentBy(peer, path).map((sent) => sent.split(' ')[1])

function answerRelay(gate: ReferencePeer, status: number, body: unknown = {}, times = 100): void {
  gate.addFault({ path, times, answer: { status, body } })
}

/** Deliveries until the counter has moved that often, an event of its own for each. */
async function deliverTimes(nova: ReferencePeer, to: string, times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    nova.queueEvent(to, event(`${to} ${count} ${nova.log.length}`))
    await nova.tick()
  }
}

describe('failed deliveries (wire: 2.1, 2.7)', () => {
  it('ten in a row make a peer unreachable, and its users offline; it is probed at once and then in steps', async () => {
    await using network = openNetwork()
    const { nova, gate } = await startSender(network)
    const home = { homeInstance: 'gate.example', homeUserId: '7' }
    const replica = nova.addUser({ username: 'erin@gate.example', password: 'p', status: 'online', ...home })
    answerRelay(gate, 500)
    gate.addFault({ path: '/api/instance/info', times: 100, answer: { status: 500 } })

    await deliverTimes(nova, gate.origin, 9)
    const before = nova.peer(gate.origin)?.status
    await deliverTimes(nova, gate.origin, 1)
    const fallenAt = nova.log.at(-1)?.at ?? 0
    for (let seconds = 0; seconds < 40 * 60; seconds += 30) {
      network.advance(30_000)
      await nova.tick()
    }

    const probes = nova.log.filter((entry) => entry.path === '/api/instance/info')
    expect([before, nova.peer(gate.origin)?.status, replica.status]).to.deep.equal(['active', 'unreachable', 'offline'])
    expect(probes.map(({ at }) => (at - fallenAt) / minuteMs)).to.deep.equal([0, 0.5, 1.5, 6.5, 21.5, 36.5])
  })

  it('five that are refused park a peer, and nothing more is sent until it is reset', async () => {
    await using network = openNetwork()
    const { nova, gate } = await startSender(network)
    gate.revoke(nova.origin)

    await deliverTimes(nova, gate.origin, 6)
    await nova.idle()
    const offered = await gate.initiate(nova.origin)
    const reset = nova.reset(gate.origin)
    const again = await nova.initiate(gate.origin)

    expect(relays(nova)).to.deep.equal(['403', '403', '403', '403', '403'])
    expect(offered.status).to.equal(409)
    expect([reset.status, again.status]).to.deep.equal([200, 200])
  })

  it('anything but a 2xx counts, whatever stands between', async () => {
    await using network = openNetwork()
    const { nova, gate } = await startSender(network)
    for (const status of [401, 500, 403, 404, 401, 429, 401]) answerRelay(gate, status, {}, 1)

    await deliverTimes(nova, gate.origin, 7)

    expect(nova.peer(gate.origin)).to.include({ refusedDeliveries: 4, failedDeliveries: 3 })
  })

  it('revocation tells nobody, drops the queue, and can be forgotten', async () => {
    await using network = openNetwork()
    const { nova, gate } = await startSender(network)
    nova.queueEvent(gate.origin, event('1'))

    const outcomes = [nova.forget(gate.origin), nova.revoke(gate.origin), nova.forget(gate.origin)]
    await nova.tick()

    expect(outcomes.map(({ status }) => status)).to.deep.equal([409, 200, 200])
    expect([nova.peers(), nova.outbox(), gate.log]).to.deep.equal([[], [], []])
  })
})
