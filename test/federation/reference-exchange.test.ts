import { randomUUID } from 'node:crypto'
import {
  applyRemoteProfiles,
  checkHomeEpoch,
  detachHome,
  lookUpByHomeId,
  profileChanged,
  remotePresenceReported,
} from '@gatehouse/contracts'
import { eventually, insertUser, answered } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { sendAsPeer } from '../../services/federation-fanout/test/fake-peer.ts'
import { openReferencePairs, ours, theirs, type ReferencePair } from './reference-pair.ts'

const day = 24 * 60 * 60_000
const timeoutMs = 5_000
const relayPath = '/api/federation/relay'

const startReferencePair = openReferencePairs()

async function startPeers() {
  const pair = await startReferencePair()
  await answered(pair.gate.admin('POST', '/api/federation/peer/initiate', { remoteOrigin: theirs }))
  await pair.run(2)
  expect(await pair.states()).to.deep.equal(['active', 'active'])
  return pair
}

async function relay({ gate, nova }: ReferencePair, body: object) {
  const { secret } = nova.peer(ours)!
  return await sendAsPeer(gate, ['POST', relayPath, body], { origin: theirs, secret })
}

/** Identity, as far as profiles go; gives what it was asked. */
async function answerProfiles({ gate }: ReferencePair, fail = () => false) {
  const asked: Record<string, unknown>[] = []
  const answering = await gate.deps.bus.respond(applyRemoteProfiles, async ({ origin, host, profiles }) => {
    if (fail()) throw new Error('identity fails')
    asked.push(...profiles.map((profile) => ({ origin, host, ...profile })))
    return { applied: profiles.length }
  })
  return { asked, [Symbol.asyncDispose]: () => answering[Symbol.asyncDispose]() }
}

async function changeProfile({ gate, clock }: ReferencePair, userId: string, displayName: string): Promise<void> {
  const sql = 'update users set display_name = ?, profile_updated_at = ? where id = ?'
  await gate.deps.orm.em.fork().execute(sql, [displayName, clock.now(), userId])
  await gate.deps.bus.publish(
    profileChanged,
    { userId, at: clock.now(), profileUpdatedAt: clock.now(), changed: ['displayName'], state: stateOf(userId) },
    { id: randomUUID() },
  )
}

const stateOf = (userId: string) => ({
  userId,
  username: 'erin',
  version: 2,
  isAdmin: false,
  isDeleted: false,
  passwordChangedAt: null,
  sessionsEndedAt: null,
})

describe('events with the reference peer', () => {
  it('its profiles and presences reach us, and every event leaves its queue', async () => {
    await using pair = await startPeers()
    await using profiles = await answerProfiles(pair)
    const reported: unknown[] = []
    await using _listening = await pair.gate.deps.bus.subscribe(
      remotePresenceReported,
      async ({ payload, requestId }) => {
        reported.push({ ...payload, requestId })
      },
    )
    const erin = pair.nova.addUser({ username: 'erin', password: 'the password' })
    await insertUser(pair.gate.deps, {
      username: 'erin@nova.example',
      homeInstance: 'nova.example',
      homeUserId: erin.id,
    })

    pair.nova.editProfile(erin, { displayName: 'Erin', avatarColor: 'mint' })
    await pair.run(1)
    pair.nova.setStatus(erin, 'dnd')
    await pair.run(1)

    expect(pair.nova.outbox()).to.deep.equal([])
    expect(profiles.asked[0]).to.include({ homeUserId: erin.id, host: 'nova.example', displayName: 'Erin' })
    expect(profiles.asked[0]).to.include({ origin: theirs, avatarColor: 'mint', bio: null })
    expect(reported).to.have.length(1)
    expect(reported[0]).to.include({ status: 'online' })
    expect(reported[0]).to.have.property('requestId').that.is.a('string').and.is.not.empty
    expect(await pair.states()).to.deep.equal(['active', 'active'])
  })

  it('answers each event by its id, and those of parts that we lack so that they are not repeated', async () => {
    await using pair = await startPeers()
    const types = ['friend_add', 'reaction_add', 'friend_request_create', 'create', 'dm_call_start', 'from_the_future']

    const { status, body } = await relay(pair, {
      events: [
        ...types.map((eventType, index) => ({ eventType, messageId: `m${index}` })),
        { eventType: 'friend_add' },
        7,
      ],
    })

    expect(status).to.equal(200)
    expect(body).to.deep.equal({
      accepted: ['m0', 'm1'],
      rejected: [
        { messageId: 'm2', reason: 'recipient_not_found' },
        { messageId: 'm3', reason: 'unknown_event_type' },
        { messageId: 'm5', reason: 'unknown_event_type' },
      ],
      undeliverable: [{ messageId: 'm4', reason: 'no_recipient' }],
      maxUploadSize: 8_388_608,
    })
  })

  it('takes no profile of a foreign host, and leaves one for later that could not be applied', async () => {
    await using pair = await startPeers()
    let fails = true
    await using profiles = await answerProfiles(pair, () => fails)
    const profile = (homeInstance: string, messageId: string) => ({
      eventType: 'profile_update',
      messageId,
      profileUpdate: { homeUserId: '7', homeInstance, profileUpdatedAt: 5, displayName: 'X' },
    })
    const events = [profile('https://other.example', 'a'), profile(theirs, 'b')]

    const failed = await relay(pair, { events })
    fails = false
    const applied = await relay(pair, { events })

    expect(failed.body.rejected).to.deep.equal([
      { messageId: 'a', reason: 'attribution_mismatch' },
      { messageId: 'b', reason: 'temporarily_unavailable' },
    ])
    expect(applied.body.accepted).to.deep.equal(['b'])
    expect(profiles.asked).to.have.length(1)
  })

  it('refuses more than 50 events, bodies that are none, and a caller that is no peer before its body is read', async () => {
    await using pair = await startPeers()
    const events = (count: number) =>
      Array.from({ length: count }, (_, id) => ({ eventType: 'friend_add', messageId: `${id}` }))
    const { secret } = pair.nova.peer(ours)!

    const answers = [
      await relay(pair, { events: events(50) }),
      await relay(pair, { events: events(51) }),
      await relay(pair, { events: 'none' }),
      await relay(pair, {}),
      await sendAsPeer(pair.gate, ['POST', relayPath, '[]'], { origin: theirs, secret }),
      await sendAsPeer(pair.gate, ['POST', relayPath, 'not json'], { origin: theirs, secret }),
      await sendAsPeer(pair.gate, ['POST', relayPath, '{}'], { origin: 'https://stranger.example', secret }),
      await pair.gate.call('POST', relayPath, { body: '{}' }),
    ]

    expect(answers.map(({ status }) => status)).to.deep.equal([200, 400, 400, 400, 400, 400, 403, 401])
  })

  it('takes a batch of 10 MiB and no byte more', async () => {
    await using pair = await startPeers()
    const batch = (bytes: number) => {
      const empty = JSON.stringify({ events: [], pad: '' }).length
      return JSON.stringify({ events: [], pad: 'x'.repeat(bytes - empty) })
    }
    const { secret } = pair.nova.peer(ours)!
    const send = (bytes: number) => sendAsPeer(pair.gate, ['POST', relayPath, batch(bytes)], { origin: theirs, secret })

    const [full, over] = [await send(10 * 1024 * 1024), await send(10 * 1024 * 1024 + 1)]

    expect([full.status, over.status]).to.deep.equal([200, 413])
  })

  it('ten thousand events in 200 relays: nothing is lost', async () => {
    await using pair = await startPeers()
    const replies = []
    for (let batch = 0; batch < 200; batch += 1) {
      if (batch % 90 === 0) pair.clock.advance(60_000)
      const events = Array.from({ length: 50 }, (_, index) => ({
        eventType: 'presence_update',
        messageId: `${batch * 50 + index}`,
        presenceUpdate: { homeUserId: `${index}`, homeInstance: theirs, status: 'online', ts: 1 },
      }))
      replies.push(await relay(pair, { events }))
    }

    const accepted = replies.flatMap(({ body }) => body.accepted as string[])
    expect(new Set(replies.map(({ status }) => status))).to.deep.equal(new Set([200]))
    expect(new Set(accepted).size).to.equal(10_000)
  })

  it('our profiles reach its replicas, also after failures, in one slot for each user', async () => {
    await using pair = await startPeers()
    const user = await insertUser(pair.gate.deps, {
      username: 'erin',
      replicatedInstances: [{ origin: `${theirs}/`, username: 'erin@gate.example' }],
    })
    const replica = pair.nova.addUser({
      username: 'erin@gate.example',
      password: 'x',
      homeInstance: 'gate.example',
      homeUserId: user.id,
    })
    const queued = async () =>
      await pair.gate.deps.orm.em.fork().execute<object[]>('select attempts from federation_deliveries')
    const nameThere = () => pair.nova.users().find(({ id }) => id === replica.id)?.displayName
    pair.nova.addFault({ path: relayPath, answer: { status: 500 } })

    await changeProfile(pair, user.id, 'First')
    await eventually('the profile is queued', async () => (await queued()).length === 1)
    await pair.gate.runDue()
    const afterFailure = [nameThere(), await queued()]
    pair.clock.advance(1_000)
    await changeProfile(pair, user.id, 'Second')
    await eventually('the profile is delivered', async () => {
      await pair.gate.runDue()
      return (await queued()).length === 0
    })

    expect(afterFailure).to.deep.equal([null, [{ attempts: 1 }]])
    expect(nameThere()).to.equal('Second')
  })

  it('its first sync gets the profiles that concern it, and no other', async () => {
    await using pair = await startPeers()
    const at = { profileUpdatedAt: pair.clock.now() }
    const known = [{ origin: theirs, username: 'x' }]
    await insertUser(pair.gate.deps, { username: 'erin', replicatedInstances: known, ...at })
    await insertUser(pair.gate.deps, { username: 'anna', ...at })
    const { secret } = pair.nova.peer(ours)!
    const sync = async (body: object) =>
      (await sendAsPeer(pair.gate, ['POST', '/api/federation/sync', body], { origin: theirs, secret })).body

    const profiles = await sync({ sinceTimestamp: 0, limit: 100, contextType: 'profile' })
    const later = await sync({ sinceTimestamp: at.profileUpdatedAt, limit: 100, contextType: 'profile' })
    const messages = await sync({ sinceTimestamp: 5, limit: 100 })

    const events = profiles.events as { profileUpdate: { username: string } }[]
    expect(events.map(({ profileUpdate }) => profileUpdate.username)).to.deep.equal(['erin'])
    expect(profiles).to.include({ hasMore: false, checkpoint: at.profileUpdatedAt })
    expect(later).to.deep.equal({ events: [], hasMore: false, checkpoint: at.profileUpdatedAt })
    expect(messages).to.deep.equal({ events: [], hasMore: false, checkpoint: 5 })
  })

  it('becomes unreachable after ten failures, and active again when it answers', async () => {
    await using pair = await startPeers()
    const user = await insertUser(pair.gate.deps, {
      username: 'erin',
      replicatedInstances: [{ origin: theirs, username: 'x' }],
    })
    pair.nova.addFault({ path: relayPath, answer: { status: 500 }, times: 10 })
    pair.nova.addFault({ path: '/api/instance/info', answer: { status: 500 } })
    await changeProfile(pair, user.id, 'First')
    await eventually(
      'queued',
      async () => (await pair.gate.deps.orm.em.fork().execute('select 1 from federation_deliveries')).length > 0,
    )
    const seen: unknown[] = []

    for (let round = 0; round < 11; round += 1) {
      await pair.gate.runDue()
      seen.push((await pair.states())[0])
      pair.clock.advance(day)
    }
    await pair.gate.runDue()
    const probed = (await pair.states())[0]
    await pair.gate.runDue()

    expect(seen.slice(0, 10)).to.deep.equal([...Array<string>(9).fill('active'), 'unreachable'])
    expect(probed).to.equal('active')
    expect(await pair.gate.deps.orm.em.fork().execute('select 1 from federation_deliveries')).to.deep.equal([])
  })
})

/** Contract: 7, Relay. */
describe('the sourceInstance of a relay', () => {
  const own = [undefined, theirs, 'HTTPS://Nova.Example/', 'https://nova.example:443']
  const foreign = ['https://else.example', 'https://nova.example:8443', 'http://nova.example', 'nova.example', '', ours]

  it('is the signer in any spelling, or the relay is refused and nothing of it applied', async () => {
    await using pair = await startPeers()
    const { secret } = pair.nova.peer(ours)!
    await using profiles = await answerProfiles(pair)
    const relay = async (given: string | undefined, profileUpdatedAt: number) => {
      const profileUpdate = { homeUserId: '7', homeInstance: theirs, profileUpdatedAt }
      const event = { eventType: 'profile_update', contextType: 'profile', messageId: '7', profileUpdate }
      const body = { version: 1, ...(given !== undefined && { sourceInstance: given }), events: [event] }
      const { status, body: said } = await sendAsPeer(pair.gate, ['POST', relayPath, body], { origin: theirs, secret })
      return { status, error: said.error }
    }

    const answers = []
    for (const [index, given] of [...own, ...foreign].entries()) answers.push(await relay(given, index + 1))

    const error = 'sourceInstance does not match the authenticated peer'
    expect(answers).to.deep.equal([
      ...own.map(() => ({ status: 200, error: undefined })),
      ...foreign.map(() => ({ status: 403, error })),
    ])
    expect(profiles.asked.map(({ profileUpdatedAt }) => profileUpdatedAt)).to.deep.equal([1, 2, 3, 4])
  })
})

describe('users of the reference peer', () => {
  it('look ours up by name and by id, and identity looks up theirs', async () => {
    await using pair = await startPeers()
    const user = await insertUser(pair.gate.deps, { username: 'erin', displayName: 'Erin' })
    const nora = pair.nova.addUser({ username: 'nora', password: 'x' })
    const ask = (homeUserId: string) =>
      pair.gate.deps.bus.request(lookUpByHomeId, { host: 'nova.example', homeUserId }, { timeoutMs })

    const byName = await pair.nova.lookUpByName(ours, 'erin')
    const byId = await pair.nova.lookUpByHomeId(ours, user.id)
    const unknown = [await pair.nova.lookUpByName(ours, 'nobody'), await pair.nova.lookUpByHomeId(ours, '5')]

    expect(byName).to.deep.equal(byId)
    expect(byName).to.deep.include({ homeUserId: user.id, username: 'erin' })
    expect(unknown).to.deep.equal(['no_such_user', 'no_such_user'])
    expect(await ask(nora.id)).to.deep.include({ outcome: 'found', username: 'nora' })
    expect(await ask('5')).to.deep.equal({ outcome: 'not_found' })
  })
})

describe('the secret of the reference peer', () => {
  const talk = async (pair: ReferencePair) => {
    const erin =
      pair.nova.users().find(({ username }) => username === 'erin') ?? pair.nova.addUser({ username: 'erin' })
    pair.nova.editProfile(erin, { displayName: randomUUID() })
    await pair.run(1)
    const home = await pair.gate.deps.bus.request(checkHomeEpoch, { host: 'nova.example', timeoutMs }, { timeoutMs })
    const lookup = await pair.nova.lookUpByHomeId(ours, '5')
    return { left: pair.nova.outbox().length, home: home.outcome, lookup }
  }
  const fine = { left: 0, home: 'same', lookup: 'no_such_user' }

  it('is rotated by it: both count until it has changed over', async () => {
    await using pair = await startPeers()
    await using _profiles = await answerProfiles(pair)

    const rotated = await pair.nova.rotate(ours)
    const during = await talk(pair)
    pair.clock.advance(16 * 60_000)
    const between = await talk(pair)
    await pair.nova.rotationTick()
    const after = await talk(pair)
    pair.clock.advance(60 * 60_000)

    expect(rotated.status).to.equal(200)
    expect([during, between, after, await talk(pair)]).to.deep.equal([fine, fine, fine, fine])
  })

  it('is rotated by us, by hand and when its days are over', async () => {
    await using pair = await startPeers()
    await using _profiles = await answerProfiles(pair)
    const [peer] = await pair.peers()
    const before = pair.nova.peer(ours)!.secret

    const byHand = await pair.gate.admin('POST', `/api/federation/peers/${peer!.id as string}/rotate`)
    const during = await talk(pair)
    pair.clock.advance(16 * 60_000)
    await pair.nova.rotationTick()
    const after = await talk(pair)
    const second = pair.nova.peer(ours)!.secret
    await answered(
      pair.gate.admin('PATCH', `/api/federation/peers/${peer!.id as string}`, { autoRotateIntervalDays: 1 }),
    )
    pair.clock.advance(day)
    await pair.gate.runDue()
    pair.clock.advance(16 * 60_000)
    await pair.nova.rotationTick()

    expect(byHand.status).to.equal(200)
    expect([during, after]).to.deep.equal([fine, fine])
    expect(new Set([before, second, pair.nova.peer(ours)!.secret]).size).to.equal(3)
    expect(await talk(pair)).to.deep.equal(fine)
  })

  it('survives a rotation whose answer was lost', async () => {
    await using pair = await startPeers()
    await using _profiles = await answerProfiles(pair)
    const [peer] = await pair.peers()
    pair.nova.addFault({ path: '/api/federation/peer/rotate', dropAnswer: true })

    const lost = await pair.gate.admin('POST', `/api/federation/peers/${peer!.id as string}/rotate`)
    pair.clock.advance(16 * 60_000)
    await pair.nova.rotationTick()
    await pair.gate.runDue()

    expect(lost.status).to.equal(503)
    expect(await talk(pair)).to.deep.equal(fine)
  })
})

describe('a reference peer that lost its data', () => {
  it('parks when it is noticed, and its accounts are detached once an admin has peered anew', async () => {
    await using pair = await startPeers()
    const detached: unknown[] = []
    await using _answering = await pair.gate.deps.bus.respond(detachHome, async (asked) => {
      detached.push(asked)
      return { tombstoned: 0, detached: 0 }
    })
    const { secret } = pair.nova.peer(ours)!
    const id = (await pair.peers())[0]!.id as string
    pair.nova.loseData()

    await sendAsPeer(pair.gate, ['POST', relayPath, { events: [], sourceInstanceId: pair.nova.instanceId() }], {
      origin: theirs,
      secret,
    })
    const parked = (await pair.peers())[0]
    const offered = await pair.nova.initiate(ours)
    const refused = await pair.gate.admin('POST', '/api/federation/peer/initiate', { remoteOrigin: theirs })
    const notYet = [...detached]
    await answered(pair.gate.admin('POST', `/api/federation/peers/${id}/reset`))
    await answered(pair.gate.admin('POST', '/api/federation/peer/initiate', { remoteOrigin: theirs }))
    await pair.run(2)

    expect(parked).to.include({ status: 'needs_attention', reason: 'peer_reset_detected' })
    expect([offered.status, refused.status]).to.deep.equal([409, 409])
    expect(notYet).to.deep.equal([])
    expect(detached).to.deep.equal([{ host: 'nova.example' }])
    expect(await pair.states()).to.deep.equal(['active', 'active'])
  })

  it('is not parked by an offer that only claims another instanceId', async () => {
    await using pair = await startPeers()
    const body = { sourceOrigin: theirs, hmacSecret: 'c'.repeat(64), instanceId: randomUUID() }

    const answer = await pair.gate.call('POST', '/api/federation/peer/accept', { body })

    expect(answer.status).to.equal(409)
    expect((await pair.states())[0]).to.equal('active')
  })
})

describe('peer/ensure', () => {
  const ensure = (pair: ReferencePair, remoteOrigin = theirs, id = '1') =>
    pair.gate.call('POST', '/api/federation/peer/ensure', { as: { id }, body: { remoteOrigin } })

  it('offers at once where peers are accepted automatically', async () => {
    await using pair = await startReferencePair()

    const { status, body } = await ensure(pair)

    expect([status, body.peeringStatus]).to.deep.equal([200, 'active'])
  })

  it('sends nothing else, queues one wish for each origin, and an admin approves it', async () => {
    await using pair = await startReferencePair({ autoAccept: false })

    const answers = [await ensure(pair), await ensure(pair), await ensure(pair)]
    const fourth = await ensure(pair)
    const { id } = await insertUser(pair.gate.deps)
    const another = await ensure(pair, theirs, id)
    const sent = pair.nova.log.length
    const requests = await pair.requests()
    const wish = requests.find(({ origin }) => origin === theirs)
    const approved = await pair.gate.admin('POST', `/api/federation/approval-requests/${wish!.id}/approve`)

    expect(answers.map(({ body }) => body)).to.deep.equal(Array(3).fill({ peeringStatus: 'admin_required' }))
    expect(fourth.status).to.equal(429)
    expect(sent).to.equal(0)
    expect(requests.map(({ direction }) => direction)).to.deep.equal(['outbound'])
    expect([approved.status, another.status]).to.deep.equal([200, 200])
    expect(await pair.states()).to.deep.equal(['active', 'active'])
  })
})
