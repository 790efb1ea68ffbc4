import { expect } from 'chai'
import { joinPeers, openNetwork, send, settle, states } from './network.ts'
import type { ReferencePeer } from './reference-peer.ts'

const gateHome = { homeInstance: 'gate.example', homeUserId: '7' }

/** Nova knows gate, a replica and a stub of it; then gate's data are lost. */
async function startAndLose(network: ReturnType<typeof openNetwork>) {
  const [gate, nova] = [await network.start('gate.example'), await network.start('nova.example')]
  joinPeers(gate, nova)
  const replica = nova.addUser({ username: 'erin@gate.example', password: 'the old password', ...gateHome })
  const stub = nova.findOrMakeStub({ homeUserId: '8', homeInstance: 'gate.example' })
  gate.loseData()
  return { gate, nova, replica, stub }
}

/** What nova's admin calls "re-peer". */
async function repeer(nova: ReferencePeer, gate: ReferencePeer) {
  nova.reset(gate.origin)
  const outcome = await nova.initiate(gate.origin)
  await settle(nova, gate)
  return outcome
}

describe('a home that was reset (wire: 2.6)', () => {
  it('is noticed when it offers, and parked', async () => {
    await using network = openNetwork()
    const { gate, nova, replica } = await startAndLose(network)

    const outcome = await gate.initiate(nova.origin)

    expect(outcome.status).to.equal(409)
    expect(nova.peer(gate.origin)).to.include({ status: 'needs_attention', attention: 'peer_reset_detected' })
    expect(replica.markedInstanceId).to.be.a('string')
  })

  it('is noticed by the probe when refused deliveries park it', async () => {
    await using network = openNetwork()
    const { gate, nova } = await startAndLose(network)
    for (let count = 0; count < 5; count += 1) {
      nova.queueEvent(gate.origin, { eventType: 'friend_add', contextType: 'friend', messageId: String(count) })
      await nova.tick()
    }
    await nova.idle()

    expect(nova.peer(gate.origin)?.attention).to.equal('peer_reset_detected')
  })

  it('is noticed by the probe of an unreachable peer, by a recheck, at a start and every 15 minutes', async () => {
    await using network = openNetwork()
    const { gate, nova } = await startAndLose(network)
    const known = nova.peer(gate.origin)
    const noticeBy = async (status: 'unreachable' | 'needs_attention', act: () => Promise<unknown>) => {
      nova.addPeer(gate.origin, { status, secret: known?.secret ?? '', instanceId: known?.instanceId ?? '' })
      await act()
      await nova.idle()
      return nova.peer(gate.origin)?.attention
    }

    const noticed = [
      await noticeBy('unreachable', nova.tick),
      await noticeBy('unreachable', () => nova.recheck(gate.origin)),
    ]
    noticed.push(
      await noticeBy('needs_attention', nova.restart),
      await noticeBy('needs_attention', nova.quarterHourTick),
    )

    expect(noticed).to.deep.equal(Array.from({ length: 4 }, () => 'peer_reset_detected'))
  })

  it('detaches accounts and ends stubs once the admin has peered again', async () => {
    await using network = openNetwork()
    const { gate, nova, replica, stub } = await startAndLose(network)
    await gate.initiate(nova.origin)
    const before = [replica.detached, stub?.deleted]

    const outcome = await repeer(nova, gate)

    expect(outcome.body).to.include({ verified: true })
    expect(states(nova, gate)).to.deep.equal(['active', 'active'])
    expect([before, [replica.detached, stub?.deleted]]).to.deep.equal([
      [false, false],
      [true, true],
    ])
  })

  it('changes nobody when it was the same instance after all', async () => {
    await using network = openNetwork()
    const [gate, nova] = [await network.start('gate.example'), await network.start('nova.example')]
    joinPeers(gate, nova)
    const replica = nova.addUser({ username: 'erin@gate.example', password: 'p', ...gateHome })
    const offer = { sourceOrigin: gate.origin, hmacSecret: 'anybody', instanceId: 'made up' }
    await send(nova, { path: '/api/federation/peer/accept', body: offer })
    const marked = replica.markedInstanceId
    gate.revoke(nova.origin)
    gate.forget(nova.origin)

    await repeer(nova, gate)

    expect(marked).to.equal(gate.instanceId())
    expect(replica).to.include({ markedInstanceId: null, detached: false })
  })
})

describe('attach (wire: 4)', () => {
  async function startDetached(network: ReturnType<typeof openNetwork>) {
    const lost = await startAndLose(network)
    await lost.gate.initiate(lost.nova.origin)
    await repeer(lost.nova, lost.gate)
    const erin = lost.gate.addUser({ username: 'erin', password: 'the new password', displayName: 'Erin' })
    return { ...lost, erin }
  }

  const tokenFor = (gate: ReferencePeer, user: Parameters<typeof gate.attachProof>[0], host = 'nova.example') =>
    gate.attachProof(user, host).body.token

  it('binds the account to the new identity and merges its stub', async () => {
    await using network = openNetwork()
    const { gate, nova, replica, erin } = await startDetached(network)
    const stub = nova.findOrMakeStub({ homeUserId: erin.id, homeInstance: 'gate.example' })

    const outcome = await nova.reattach(replica, tokenFor(gate, erin))

    expect(outcome.status).to.equal(200)
    expect(replica).to.include({ homeUserId: erin.id, detached: false, displayName: 'Erin' })
    expect(nova.users().map(({ id }) => id)).to.not.include(stub?.id)
    expect(gate.log.at(-2)?.answer).to.equal(`{"valid":true,"homeUserId":"${erin.id}","username":"erin"}`)
  })

  it('proves once, within a minute, and to the named host alone', async () => {
    await using network = openNetwork()
    const { gate, nova, replica, erin } = await startDetached(network)
    const tokens = [tokenFor(gate, erin, 'else.example'), tokenFor(gate, erin), tokenFor(gate, erin), 'ab'.repeat(32)]

    const first = await nova.reattach(replica, tokens[1])
    replica.detached = true
    const statuses = [first.status, (await nova.reattach(replica, tokens[1])).status]
    for (const token of [tokens[0], tokens[3]]) statuses.push((await nova.reattach(replica, token)).status)
    network.advance(60_001)
    statuses.push((await nova.reattach(replica, tokens[2])).status)

    expect(statuses).to.deep.equal([200, 401, 401, 401, 401])
    expect(gate.log.at(-1)?.answer).to.equal('{"valid":false}')
  })

  it('refuses who cannot attach', async () => {
    await using network = openNetwork()
    const { gate, nova, replica, erin } = await startDetached(network)
    const native = nova.addUser({ username: 'native', password: 'p' })
    const identity = { homeInstance: 'gate.example', homeUserId: erin.id }
    const holder = nova.addUser({ username: 'erin_2@gate.example', password: 'p', ...identity })

    const statuses = [
      gate.attachProof(erin, 'not a host').status,
      nova.attachProof(replica, 'gate.example').status,
      (await nova.reattach(replica, 'short')).status,
      (await nova.reattach(native, tokenFor(gate, erin))).status,
      (await nova.reattach(replica, tokenFor(gate, erin))).status,
    ]
    nova.revoke(gate.origin)
    statuses.push((await nova.reattach(replica, tokenFor(gate, erin))).status)

    expect(holder.deleted).to.equal(false)
    expect(statuses).to.deep.equal([400, 403, 400, 403, 409, 409])
  })
})

describe('instance info and own origin (wire: 1, 5)', () => {
  it('says what the page says, with a name of 32 characters at most', async () => {
    await using network = openNetwork()
    const nova = await network.start('nova.example', {
      instanceName: 'n'.repeat(40),
      settings: { registrationOpen: false },
    })

    const { body } = await send(nova, { method: 'GET', path: '/api/instance/info' })

    expect(body).to.deep.equal({
      name: 'n'.repeat(32),
      version: '1.0.0',
      registrationOpen: false,
      federatedRegistrationOpen: true,
      instanceId: nova.instanceId(),
      sourceCodeUrl: 'https://nova.example/source',
      commit: null,
    })
  })

  it('writes its origin as it was typed, but for outer blanks and one slash', async () => {
    await using network = openNetwork()
    const typed = await network.start('', { publicOrigin: ' HTTPS://Nova.example:443/ ' })
    const named = await network.start('', { publicOrigin: '', domain: 'named.example' })
    const neither = await network.start('', { publicOrigin: '' })

    expect(typed.origin).to.equal('HTTPS://Nova.example:443')
    expect(named.origin).to.equal('https://named.example')
    expect(neither.origin).to.equal(neither.address.replace('127.0.0.1', 'localhost'))
  })
})
