import { expect } from 'chai'
import { joinPeers, openNetwork, secretOfPage, sentBy, settle } from './network.ts'
import type { ReferencePeer } from './reference-peer.ts'

const path = '/api/federation/relay'
const minuteMs = 60_000
const hourMs = 60 * minuteMs

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

describe('the outbox (wire: 2.7, 3)', () => {
  it('keeps one slot for the profile and the presence of a user', async () => {
    await using network = openNetwork()
    const { nova, gate } = await startSender(network)
    nova.addPeer('https://pending.example', { status: 'pending', secret: secretOfPage })
    nova.addPeer('https://waiting.example', { status: 'awaiting_approval', secret: secretOfPage })
    const erin = nova.addUser({ username: 'erin' })

    nova.editProfile(erin, { bio: 'Hi' })
    nova.setStatus(erin, 'idle')

    const queued = nova.outbox().map(({ origin, event: { eventType } }) => [origin, eventType])
    expect(queued).to.deep.equal([
      [gate.origin, 'presence_update'],
      ['https://pending.example', 'presence_update'],
    ])
  })

  it('writes a profile with the fields of the page, in their order', async () => {
    await using network = openNetwork()
    const { nova, gate } = await startSender(network)
    const erin = nova.addUser({ id: '7', username: 'erin', displayName: 'Erin', avatarColor: 'mint' })

    nova.editProfile(erin, { avatar: '1.webp', accentColor: '#aabbcc' })
    await nova.tick()

    expect(gate.log[0]?.body).to.include(
      '"events":[{"eventType":"profile_update","contextType":"profile","messageId":"7","encryptionVersion":0,"timestamp":1784000000000,"profileUpdate":{"homeUserId":"7","homeInstance":"https://nova.example","profileUpdatedAt":1784000000000,"username":"erin","displayName":"Erin","avatar":"https://nova.example/api/uploads/1.webp","banner":null,"accentColor":"#aabbcc","avatarColor":"mint","bio":null}}]',
    )
    expect(nova.outbox()).to.deep.equal([])
  })

  it('sends at most 50 events in one request', async () => {
    await using network = openNetwork()
    const { nova, gate } = await startSender(network)
    for (let count = 0; count < 51; count += 1) nova.queueEvent(gate.origin, event(String(count)))

    await nova.tick()

    expect(nova.outbox().map(({ event: { messageId } }) => messageId)).to.deep.equal(['50'])
  })

  it('names a new instance to its user: a placeholder, an offer, then the profile', async () => {
    await using network = openNetwork()
    const [nova, gate] = [await network.start('nova.example'), await network.start('gate.example')]
    const erin = nova.addUser({ username: 'erin' })
    nova.nameInstance(erin, { origin: gate.origin, username: 'erin@nova.example' })

    await nova.tick()
    await settle(nova, gate)
    await nova.tick()

    expect(sentBy(nova)[0]).to.equal('federation/peer/accept 200')
    expect(gate.log.at(-1)?.body).to.include('"eventType":"profile_update"')
  })

  for (const reason of ['duplicate', 'recipient_not_found', 'attribution_mismatch', 'unknown_event_type']) {
    it(`ends an event that is rejected with ${reason}`, async () => {
      await using network = openNetwork()
      const { nova, gate } = await startSender(network)
      gate.relayVerdict('friend_add', { rejected: reason })
      nova.queueEvent(gate.origin, event('1'))

      await nova.tick()

      expect(nova.outbox()).to.deep.equal([])
    })
  }

  const repeated: Record<string, unknown> = {
    'another reason': { accepted: [], rejected: [{ messageId: '1', reason: 'busy' }] },
    'no mention': { accepted: [], rejected: [] },
    'a list that is missing': { accepted: ['1'] },
    'a body that is no JSON': 'ok',
  }
  for (const [name, body] of Object.entries(repeated)) {
    it(`repeats an event on every tick after ${name}, and clears the counters`, async () => {
      await using network = openNetwork()
      const { nova, gate } = await startSender(network)
      nova.addPeer(gate.origin, { status: 'active', secret: secretOfPage, failedDeliveries: 9, refusedDeliveries: 4 })
      answerRelay(gate, 200, body)
      nova.queueEvent(gate.origin, event('1'))

      for (let count = 0; count < 3; count += 1) await nova.tick()

      expect(relays(nova)).to.deep.equal(['200', '200', '200'])
      expect(nova.peer(gate.origin)).to.include({ failedDeliveries: 0, refusedDeliveries: 0, status: 'active' })
    })
  }

  it('waits longer after each failure, for each event by itself', async () => {
    await using network = openNetwork()
    const { nova, gate } = await startSender(network)
    answerRelay(gate, 500)
    nova.queueEvent(gate.origin, event('1'))
    const waits: number[] = []

    for (let count = 0; count < 8; count += 1) {
      await nova.tick()
      const next = nova.outbox()[0]
      const wait = (next?.nextAttemptAt ?? 0) - (nova.log.at(-1)?.at ?? 0)
      waits.push(wait)
      network.advance(wait)
    }

    const minutes = [0.5, 1, 5, 15, 60, 360, 1440, 1440]
    expect(waits).to.deep.equal(minutes.map((count) => count * minuteMs))
  })

  it('starts a new event afresh, and one that overwrites another', async () => {
    await using network = openNetwork()
    const { nova, gate } = await startSender(network)
    const erin = nova.addUser({ username: 'erin' })
    answerRelay(gate, 500)
    nova.setStatus(erin, 'online')
    await nova.tick()
    await nova.tick()

    nova.setStatus(erin, 'idle')
    await nova.tick()

    expect(relays(nova)).to.deep.equal(['500', '500'])
    expect(nova.outbox()[0]?.attempts).to.equal(1)
  })

  it('drops an event after 30 days', async () => {
    await using network = openNetwork()
    const { nova, gate } = await startSender(network)
    nova.queueEvent(gate.origin, event('1'))
    network.advance(30 * 24 * hourMs)

    await nova.tick()

    expect([nova.outbox(), relays(nova)]).to.deep.equal([[], []])
  })
})
