import { expect } from 'chai'
import { joinPeers, openNetwork, sendSigned } from './network.ts'
import type { ReferencePeer, ReferencePeerOptions } from './reference-peer.ts'

const home = 'https://gate.example'

/** Nova with an active peer gate, and a replica of gate's user 7. */
async function startNova(network: ReturnType<typeof openNetwork>, options: ReferencePeerOptions = {}) {
  const [gate, nova] = [await network.start('gate.example'), await network.start('nova.example', options)]
  joinPeers(gate, nova)
  const replica = nova.addUser({
    username: 'erin@gate.example',
    password: 'the password',
    homeInstance: 'gate.example',
    homeUserId: '7',
  })
  return { gate, nova, replica }
}

async function relay(nova: ReferencePeer, events: unknown[], sourceInstance = home) {
  const body = { version: 1, sourceInstance, sourceInstanceId: 'gate-id', events }
  return await sendSigned(nova, 'relay', { origin: home, body })
}

const profile = (update: object, messageId = '7') => ({
  eventType: 'profile_update',
  contextType: 'profile',
  messageId,
  profileUpdate: { homeUserId: '7', homeInstance: home, ...update },
})

const presence = (homeInstance: string, homeUserId = '7') => ({
  eventType: 'presence_update',
  contextType: 'profile',
  messageId: homeUserId,
  presenceUpdate: { homeUserId, homeInstance, status: 'online', ts: 1 },
})

describe('relay, received (wire: 3, 6)', () => {
  it('accepts what concerns a user and what concerns nobody', async () => {
    await using network = openNetwork()
    const { nova, replica } = await startNova(network)

    const answer = await relay(nova, [presence(home), presence(home, '8')])

    expect(answer.text).to.equal('{"accepted":["7","8"],"rejected":[],"maxUploadSize":8388608}')
    expect(replica.status).to.equal('online')
  })

  it('replaces all six fields when the profile is newer, and never the username', async () => {
    await using network = openNetwork()
    const { gate, nova, replica } = await startNova(network)
    const avatar = `${home}/api/uploads/1.webp`
    gate.addFault({ path: '/api/uploads/1.webp', answer: { status: 200, headers: { 'content-type': 'image/webp' } } })
    const newer = { profileUpdatedAt: 2, username: 'erin2', displayName: null, avatar, bio: 'Hi', avatarColor: 'mint' }

    await relay(nova, [profile(newer)])
    await relay(nova, [profile({ profileUpdatedAt: 2, bio: 'as old' })])
    await nova.idle()

    expect(replica).to.include({ username: 'erin@gate.example', displayName: 'erin2', bio: 'Hi', avatar, banner: null })
  })

  it('fetches pictures from the home alone, and only pictures', async () => {
    await using network = openNetwork()
    const { gate, nova, replica } = await startNova(network)
    gate.addFault({ path: '/api/uploads/1.html', answer: { status: 200, headers: { 'content-type': 'text/html' } } })
    const pictures = { avatar: `${home}/api/uploads/1.html`, banner: 'https://else.example/1.webp' }

    await relay(nova, [profile({ profileUpdatedAt: 2, ...pictures })])
    await nova.idle()

    expect(replica).to.include({ avatar: null, banner: null })
    expect(nova.log.filter(({ direction }) => direction === 'sent')).to.have.length(1)
  })

  it('rejects another home than that of the source, which is read from the body', async () => {
    await using network = openNetwork()
    const { nova, replica } = await startNova(network)

    const foreign = await relay(nova, [presence('https://else.example')])
    const claimed = await relay(nova, [presence(home)], 'https://else.example')

    const rejected = [{ messageId: '7', reason: 'attribution_mismatch' }]
    expect([foreign.body.rejected, claimed.body.rejected]).to.deep.equal([rejected, rejected])
    expect(replica.status).to.equal('offline')
  })

  it('of generation 2 takes no other source than the signer, in any spelling of it (wire: 3.2)', async () => {
    await using network = openNetwork()
    const { nova, replica } = await startNova(network, { generation: 2 })

    const claimed = await relay(nova, [presence(home)], 'https://else.example')
    const before = replica.status
    const own = await relay(nova, [presence(home)], 'https://GATE.example:443/')

    expect([claimed.status, own.status]).to.deep.equal([403, 200])
    expect([before, replica.status]).to.deep.equal(['offline', 'online'])
  })

  it('passes detached accounts by', async () => {
    await using network = openNetwork()
    const { nova, replica } = await startNova(network)
    replica.detached = true

    const answer = await relay(nova, [presence(home)])

    expect(answer.body.accepted).to.deep.equal(['7'])
    expect(replica.status).to.equal('offline')
  })

  it('rejects unknown types, and answers as a test tells it', async () => {
    await using network = openNetwork()
    const { nova } = await startNova(network)
    nova.relayVerdict('dm_call_start', { undeliverable: 'no_recipient' })
    nova.relayVerdict('create', 'unmentioned')
    const types = ['reaction_add', 'dm_call_start', 'create', 'something_new']

    const answer = await relay(
      nova,
      types.map((eventType, index) => ({ eventType, contextType: 'dm', messageId: String(index) })),
    )

    expect(answer.body).to.deep.include({
      accepted: ['0'],
      rejected: [{ messageId: '3', reason: 'unknown_event_type' }],
      undeliverable: [{ messageId: '1', reason: 'no_recipient' }],
    })
  })

  it('takes 1 to 50 events', async () => {
    await using network = openNetwork()
    const { nova } = await startNova(network)
    const many = (length: number) => Array.from({ length }, (_, index) => presence(home, String(index)))

    const statuses = [(await relay(nova, [])).status, (await relay(nova, many(50))).status]
    statuses.push((await relay(nova, many(51))).status)

    expect(statuses).to.deep.equal([400, 200, 400])
  })

  it('learns an unknown instanceId and keeps a known one', async () => {
    await using network = openNetwork()
    const { gate, nova } = await startNova(network)
    await relay(nova, [presence(home)])
    const kept = nova.peer(home)?.instanceId
    nova.addPeer(home, { status: 'active', secret: nova.peer(home)?.secret ?? '' })

    await relay(nova, [presence(home)])

    expect([kept, nova.peer(home)?.instanceId]).to.deep.equal([gate.instanceId(), 'gate-id'])
  })
})
