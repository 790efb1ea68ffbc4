import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { joinPeers, openNetwork, secretOfPage, send, sendSigned, sentBy, settle } from './network.ts'

const syncPath = '/api/federation/sync'

const profileAt = (timestamp: number, homeUserId: string) => ({
  eventType: 'profile_update',
  contextType: 'profile',
  messageId: homeUserId,
  timestamp,
  profileUpdate: { homeUserId, homeInstance: 'https://gate.example', profileUpdatedAt: timestamp, displayName: 'Erin' },
})

describe('after an activation (wire: 2.7)', () => {
  it('syncs three times, then names the nameless stubs, then relays presence', async () => {
    await using network = openNetwork()
    const [gate, nova] = [await network.start('gate.example'), await network.start('nova.example')]
    const erin = gate.addUser({ username: 'erin', displayName: 'Erin' })
    const stub = nova.findOrMakeStub({ homeUserId: erin.id, homeInstance: 'gate.example' })
    nova.findOrMakeStub({ homeUserId: '8', homeInstance: 'gate.example', usernameHint: 'zoe' })
    nova.addUser({ username: 'online', status: 'online' })

    await nova.initiate(gate.origin)
    await settle(nova, gate)
    await nova.tick()

    const sync = 'federation/sync 200'
    const lookup = 'federation/users/by-home-id 200'
    expect(sentBy(nova).slice(2)).to.deep.equal([sync, sync, sync, lookup, 'federation/relay 200'])
    expect(stub).to.include({ username: 'erin@gate.example', displayName: 'Erin' })
  })

  it('may come before the other side is active', async () => {
    await using network = openNetwork()
    const [gate, nova] = [await network.start('gate.example'), await network.start('nova.example')]
    nova.addFault({ path: '/api/federation/epoch', before: () => nova.idle() })

    const outcome = await gate.initiate(nova.origin)

    expect(outcome.body).to.include({ verified: true })
    expect(sentBy(nova, syncPath)).to.deep.equal(Array.from({ length: 3 }, () => 'federation/sync 403'))
  })

  it('does not repeat a failed sync before a restart, and never counts it', async () => {
    await using network = openNetwork()
    const [gate, nova] = [await network.start('gate.example'), await network.start('nova.example')]
    gate.addFault({ path: syncPath, times: 3, answer: { status: 404, body: {} } })

    await nova.initiate(gate.origin)
    await settle(nova, gate)
    await nova.tick()
    const before = sentBy(nova, syncPath)
    await nova.restart()
    await settle(nova)

    expect(before).to.deep.equal(Array.from({ length: 3 }, () => 'federation/sync 404'))
    expect(sentBy(nova, syncPath).slice(3)).to.deep.equal(Array.from({ length: 3 }, () => 'federation/sync 200'))
    expect(nova.peer(gate.origin)).to.include({ status: 'active', failedDeliveries: 0 })
  })

  it('asks for the instanceId that it does not know, at a start and every 15 minutes', async () => {
    await using network = openNetwork()
    const [gate, nova] = [await network.start('gate.example'), await network.start('nova.example')]
    gate.addPeer(nova.origin, { status: 'active', secret: secretOfPage })
    nova.addPeer(gate.origin, { status: 'active', secret: secretOfPage })
    gate.addFault({ path: '/api/federation/epoch', answer: { status: 500 } })

    await nova.restart()
    await settle(nova)
    const atStart = nova.peer(gate.origin)?.instanceId
    await nova.quarterHourTick()

    expect([atStart, nova.peer(gate.origin)?.instanceId]).to.deep.equal([null, gate.instanceId()])
  })
})

describe('sync (wire: 3)', () => {
  it('asks page after page, applies the profiles, and keeps its place', async () => {
    await using network = openNetwork()
    const [gate, nova] = [await network.start('gate.example'), await network.start('nova.example')]
    joinPeers(gate, nova)
    const replica = nova.addUser({ username: 'e@gate.example', homeInstance: 'gate.example', homeUserId: '101' })
    for (let count = 1; count <= 101; count += 1) {
      gate.syncEvents.push({ contextType: 'profile', event: profileAt(count, String(count)) })
    }

    await nova.restart()
    await settle(nova)

    const bodies = gate.log.map(({ body }) => body)
    expect(bodies.slice(2)).to.deep.equal([
      '{"sinceTimestamp":0,"limit":100,"contextType":"profile"}',
      '{"sinceTimestamp":100,"limit":100,"contextType":"profile"}',
    ])
    expect(replica.displayName).to.equal('Erin')
    expect(nova.peer(gate.origin)?.syncCheckpoints).to.deep.equal({ profile: 101 })
  })

  it('takes limits from 1 to 500', async () => {
    await using network = openNetwork()
    const [gate, nova] = [await network.start('gate.example'), await network.start('nova.example')]
    joinPeers(gate, nova)
    const limited = async (limit: number) =>
      (await sendSigned(gate, 'sync', { origin: nova.origin, body: { sinceTimestamp: 0, limit } })).status

    const statuses = [await limited(0), await limited(1), await limited(500), await limited(501)]

    expect(statuses).to.deep.equal([400, 200, 200, 400])
  })
})

describe('faults that a test may cause', () => {
  const path = '/api/instance/info'
  const ask = { method: 'GET', path }

  it('answer something else, answer late, or lose the answer, as often as asked', async () => {
    await using network = openNetwork()
    const nova = await network.start('nova.example')
    nova.addFault({ path, answer: { status: 503, body: { error: 'down' } } })
    nova.addFault({ path, delayMs: 5 })
    nova.addFault({ path, times: 2, dropAnswer: true })
    const outcomes: unknown[] = []

    for (let count = 0; count < 5; count += 1) {
      outcomes.push(
        await send(nova, ask).then(
          ({ status }) => status,
          () => 'lost',
        ),
      )
    }

    expect(outcomes).to.deep.equal([503, 200, 'lost', 'lost', 200])
    expect(nova.log.map(({ status }) => status)).to.deep.equal([503, 200, 'dropped', 'dropped', 200])
  })

  it('timers do by themselves what a test does by hand', async () => {
    await using network = openNetwork()
    const gate = await network.start('gate.example')
    const nova = await network.start('nova.example', { timers: { outboxMs: 2 } })

    nova.queueEvent(gate.origin, { eventType: 'friend_add', contextType: 'friend', messageId: '1' })
    while (nova.outbox().length > 0) await sleep(2)

    expect(gate.log.map(({ path: received }) => received)).to.include('/api/federation/relay')
  })

  it('a restart keeps peers, requests and the outbox', async () => {
    await using network = openNetwork()
    const [gate, nova] = [await network.start('gate.example'), await network.start('nova.example')]
    nova.settings.autoAcceptPeering = false
    await gate.initiate(nova.origin)
    nova.queueEvent('https://else.example', { eventType: 'create', contextType: 'dm', messageId: '1' })
    const before = [nova.peers(), nova.requests(), nova.outbox()]

    await nova.restart()

    expect([nova.peers(), nova.requests(), nova.outbox()]).to.deep.equal(before)
  })
})
