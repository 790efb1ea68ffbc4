import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { signBody } from '../src/peers/signature.ts'
import {
  buildPeer,
  fakeInstanceId,
  secretOfPeer,
  sendAsPeer,
  sendJson,
  sendSignedJson,
  startFakePeer,
  type FakePeer,
  type Received,
} from './fake-peer.ts'
import { startTestInstance, type TestInstance } from './harness.ts'
import { Peer } from '@gatehouse/domain'
import { OutboundFailure } from '@gatehouse/outbound'
import { answered, openFaultyWrites, untilAvailable } from '@gatehouse/test-kit'

type PeerBody = { id: string; status: string; origin: string }

const initiatePath = '/api/federation/peer/initiate'
const acceptPath = '/api/federation/peer/accept'
const epochPath = '/api/federation/epoch'

/** Ways to answer the question for a proof that prove nothing. */
const impostures: Record<string, (peer: FakePeer, request: Received, response: ServerResponse) => void> = {
  'another secret': (_peer, _request, response) =>
    sendSignedJson(response, { secret: 'f'.repeat(64), body: { instanceId: fakeInstanceId } }),
  'no instanceId': (peer, _request, response) =>
    sendSignedJson(response, { secret: peer.secret!, body: { instanceId: 'x' } }),
  'the nonce of the question': (peer, { headers }, response) =>
    sendSignedJson(response, {
      secret: peer.secret!,
      body: { instanceId: fakeInstanceId },
      nonce: headers['x-federation-nonce'] as string,
    }),
  'a clock that is off': (peer, _request, response) =>
    sendSignedJson(response, {
      secret: peer.secret!,
      body: { instanceId: fakeInstanceId },
      timestamp: Date.now() - 16 * 60_000,
    }),
  'what it was sent': (peer, request, response) => {
    const sent = Object.entries(request.headers).filter(([name]) => name.startsWith('x-federation-'))
    response.writeHead(200, { ...Object.fromEntries(sent), 'x-federation-origin': peer.origin })
    response.end(request.body)
  },
  'other bytes than it signed': (peer, _request, response) => {
    const signed = { secret: peer.secret!, origin: peer.origin, timestamp: Date.now() }
    const nonce = '00000000-0000-4000-8000-000000000000'
    response.writeHead(200, signBody({ ...signed, nonce, body: '{"instanceId":"x"}' }))
    response.end('{ "instanceId": "x" }')
  },
  'no signature': (_peer, _request, response) => sendJson(response, 200, { instanceId: 'x' }),
  'a page': (_peer, _request, response) => void response.writeHead(200).end('<html>Welcome</html>'),
  'a redirect': (peer, _request, response) => void response.writeHead(307, { location: peer.origin }).end(),
  'a body without end': (_peer, _request, response) => {
    response.writeHead(200)
    const fill = () => void (response.destroyed || response.write('x'.repeat(32_768), fill))
    fill()
  },
  'a closed connection': (_peer, _request, response) => void response.destroy(),
}

/** Contract: 7, Handshake, asking. */
describe('offering to be peers', () => {
  let instance: TestInstance
  let remote: FakePeer

  before(async () => {
    instance = await startTestInstance('a')
  })
  after(() => instance[Symbol.asyncDispose]())
  beforeEach(async () => {
    remote = await startFakePeer('b')
  })
  afterEach(() => remote[Symbol.asyncDispose]())

  const initiate = (remoteOrigin = remote.origin) => instance.admin('POST', initiatePath, { remoteOrigin })
  const offers = () =>
    remote.received
      .filter(({ path }) => path === acceptPath)
      .map(({ body }) => JSON.parse(body.toString()) as Record<string, string>)
  const peers = async () => {
    const { body } = await instance.admin('GET', '/api/federation/peers')
    return (body.peers as PeerBody[]).filter(({ origin }) => origin === remote.origin)
  }

  it('makes a peer that proves the secret, and shows it without the secret', async () => {
    const answer = await initiate()
    const [offer] = offers()
    const listed = await instance.admin('GET', '/api/federation/peers')

    expect(answer.status).to.equal(200)
    expect(answer.body.peer).to.include({ origin: remote.origin, status: 'active', instanceName: 'Fake' })
    expect(offer).to.include({ sourceOrigin: instance.origin, instanceName: 'Gatehouse' })
    expect(offer?.hmacSecret).to.match(/^[0-9a-f]{64}$/)
    expect(listed.body.peers).to.deep.include({ ...(answer.body.peer as object), ordersOverdue: 0 })
    expect(`${answer.bytes.toString()}${listed.bytes.toString()}`).to.not.include(offer!.hmacSecret)
    expect(JSON.stringify(instance.logLines)).to.not.include(offer!.hmacSecret)
  })

  it('keeps the name of one whose own signed request made it a peer before its answer came', async () => {
    let before: unknown
    remote.answer = ({ path, body }, response) => {
      if (path !== acceptPath) return false
      const secret = (JSON.parse(body.toString()) as { hmacSecret: string }).hmacSecret
      remote.secret = secret
      const signedRequest = sendAsPeer(instance, ['POST', '/api/federation/sync', { sinceTimestamp: 0 }], {
        origin: remote.origin,
        secret,
      })
      void signedRequest.then(async () => {
        before = (await peers())[0]
        sendJson(response, 200, { accepted: true, instanceName: 'Fake\r\nname' })
      })
    }

    const answer = await initiate()

    expect(before).to.include({ status: 'active', instanceName: null })
    expect(answer.body.peer).to.include({ status: 'active', instanceName: 'Fake name' })
  })

  it('waits when an admin there has to decide', async () => {
    remote.answer = ({ path }, response) =>
      path === acceptPath && void sendJson(response, 202, { queued: true, approvalToken: 'a token' })

    const answer = await initiate()

    expect(answer.status).to.equal(202)
    expect(answer.body.peer).to.include({ status: 'awaiting_approval' })
  })

  for (const [name, answerProof] of Object.entries(impostures)) {
    it(`makes no peer of one whose proof is ${name}`, async () => {
      remote.answer = (request, response) => request.path === epochPath && void answerProof(remote, request, response)

      const answer = await initiate()

      expect(answer.status).to.be.oneOf([409, 503])
      expect((await peers())[0]?.status).to.be.oneOf(['pending', 'needs_attention'])
    })
  }

  it('is 400 for origins that are none, our own, or not to be reached', async () => {
    await using guarded = await startTestInstance('other', { allowPrivate: '' })
    const own = await initiate(instance.origin)
    const invalid = await Promise.all(
      ['b.test', 'ftp://b.test', 'https://', 'https://b.test/path', 'https://u:p@b.test', 'https://b.test.', ''].map(
        (origin) => initiate(origin),
      ),
    )
    const refused = await Promise.all(
      ['http://b.test', 'https://127.0.0.1', 'https://[::1]', 'https://10.1.2.3'].map((remoteOrigin) =>
        guarded.admin('POST', initiatePath, { remoteOrigin }),
      ),
    )

    expect([own, ...invalid, ...refused].map(({ status }) => status)).to.deep.equal(Array(12).fill(400))
    expect((await guarded.admin('GET', '/api/federation/peers')).body).to.deep.equal({ peers: [] })
  })

  it('is 400 for a host without an address, of which no peer is left, also after an interruption', async () => {
    const request = () => Promise.reject(new OutboundFailure('unresolved', 'nowhere.test cannot be resolved'))
    const outbound = { ...instance.deps.outbound, request }
    await using other = await startTestInstance('other', { overrides: { outbound } })
    const initiateThere = () => other.admin('POST', initiatePath, { remoteOrigin: 'https://nowhere.test' })
    const list = async () => (await other.admin('GET', '/api/federation/peers')).body
    const answer = await initiateThere()
    const listed = await list()
    const writes = await openFaultyWrites(other.deps.orm)
    const later: object[] = []
    // Seven statements of it change rows. The outbox has others.
    for (const count of [1, 2, 3, 4, 5, 6, 7, 8]) {
      await writes.failDuring(initiateThere, { count, fault: '57P01' })
      later.push([(await initiateThere()).status, await list()])
    }

    expect([answer.status, answer.body.code]).to.deep.equal([400, 'remote_unresolved'])
    expect(listed).to.deep.equal({ peers: [] })
    expect(later).to.deep.equal(Array(8).fill([400, { peers: [] }]))
  })

  it('is 503 when nobody answers there, and may be tried again with the same secret', async () => {
    remote.answer = (_request, response) => void response.destroy()
    const failed = await initiate()
    remote.answer = () => false
    const repeated = await initiate()

    const [first, second] = offers()
    expect([failed.status, repeated.status]).to.deep.equal([503, 200])
    expect(first?.hmacSecret).to.equal(second?.hmacSecret)
    expect(await peers()).to.have.length(1)
  })

  it('succeeds when the answer was lost but the proof holds', async () => {
    remote.answer = ({ path, body }, response) => {
      if (path !== acceptPath) return false
      if (remote.secret) return sendJson(response, 409, { accepted: false, code: 'PEER_EXISTS_RESET_REQUIRED' })
      remote.secret = (JSON.parse(body.toString()) as { hmacSecret: string }).hmacSecret
      response.destroy()
    }

    const answer = await initiate()

    expect(answer.status).to.equal(200)
    expect(answer.body.peer).to.include({ status: 'active' })
  })

  it('says what the other instance says', async () => {
    remote.answer = ({ path }, response) =>
      path === acceptPath &&
      void sendJson(response, 409, { error: 'We know\r\nyou', accepted: false, code: 'PEER_EXISTS_RESET_REQUIRED' })

    const answer = await initiate()

    expect(answer.status).to.equal(409)
    expect(answer.body).to.deep.equal({
      error: 'The other instance rejected the request',
      answer: 'We know you',
      code: 'PEER_EXISTS_RESET_REQUIRED',
      statusCode: 409,
    })
  })

  it('is 409 for an active peer', async () => {
    await initiate()

    expect((await initiate()).status).to.equal(409)
    expect(offers()).to.have.length(1)
  })

  it('starts over after the peer was revoked, with a fresh secret', async () => {
    const { id } = (await initiate()).body.peer as PeerBody
    const revoked = [
      await instance.admin('DELETE', `/api/federation/peers/${id}`),
      await instance.admin('DELETE', `/api/federation/peers/${id}`),
    ]
    const whileRevoked = await sendAsPeer(instance, ['POST', epochPath, '{}'], {
      origin: remote.origin,
      secret: remote.secret!,
    })
    const again = await initiate()

    const [first, second] = offers()
    expect(revoked.map(({ status, body }) => [status, body])).to.deep.equal(Array(2).fill([200, { success: true }]))
    expect(whileRevoked.status).to.equal(403)
    expect(again.body.peer).to.include({ id, status: 'active', revokedAt: null })
    expect(first?.hmacSecret).to.not.equal(second?.hmacSecret)
  })

  it('makes no peer of one that was revoked before the handshake ended', async () => {
    remote.answer = ({ path }, response) => {
      if (path !== acceptPath) return false
      void (async () => {
        const [peer] = await peers()
        await answered(instance.admin('DELETE', `/api/federation/peers/${peer!.id}`))
        sendJson(response, 200, { accepted: true })
      })()
    }

    const answer = await initiate()

    expect(answer.status).to.equal(409)
    expect((await peers()).map(({ status }) => status)).to.deep.equal(['revoked'])
  })

  it('and its end are for admins, and are recorded', async () => {
    const { id } = (await initiate()).body.peer as PeerBody
    await answered(instance.admin('DELETE', `/api/federation/peers/${id}`))
    const asUser = await Promise.all(
      [
        ['POST', initiatePath],
        ['GET', '/api/federation/peers'],
        ['DELETE', `/api/federation/peers/${id}`],
        ['GET', '/api/federation/approval-requests'],
        ['POST', '/api/federation/approval-requests/1/approve'],
        ['POST', '/api/federation/approval-requests/1/deny'],
      ].map(([method, path]) => instance.call(method!, path!, { as: { id: '2' } })),
    )
    const unknown = await instance.admin('DELETE', '/api/federation/peers/12345')

    expect(asUser.map(({ status }) => status)).to.deep.equal(Array(6).fill(403))
    expect(unknown.status).to.equal(404)
    expect(await auditOf(instance, remote.origin)).to.deep.equal([
      { action: 'peer.initiated', actor: '1', target: id, detail: { origin: remote.origin } },
      { action: 'peer.revoked', actor: '1', target: id, detail: { origin: remote.origin } },
    ])
  })
})

/** Contract: 7, Handshake, asking; protocol.md 2.3. */
describe('an offer that is not taken', () => {
  let instance: TestInstance
  let remote: FakePeer

  beforeEach(async () => {
    instance = await startTestInstance('a')
    remote = await startFakePeer('b')
    remote.now = () => instance.clock.now()
  })
  afterEach(async () => {
    await instance[Symbol.asyncDispose]()
    await remote[Symbol.asyncDispose]()
  })

  const initiate = () => instance.admin('POST', initiatePath, { remoteOrigin: remote.origin })
  const offers = () =>
    remote.received
      .filter(({ path }) => path === acceptPath)
      .map(({ body }) => JSON.parse(body.toString()) as Record<string, string>)
  const peers = async () => (await instance.admin('GET', '/api/federation/peers')).body.peers as PeerBody[]

  it('is repeated at a quiet pace while an offer of the other side is on its way', async () => {
    const delaysMs = [30_000, 60_000, 5 * 60_000, 15 * 60_000, 15 * 60_000]
    remote.answer = ({ path }, response) =>
      path === acceptPath && void sendJson(response, 409, { error: 'Soon', code: 'PEER_HANDSHAKE_IN_PROGRESS' })
    const answer = await initiate()
    const counts = []
    for (const ms of delaysMs) {
      instance.clock.advance(ms - 1)
      await instance.runDue()
      instance.clock.advance(1)
      const early = offers().length
      await instance.runDue()
      counts.push([early, offers().length])
    }
    const [waiting] = await peers()
    remote.answer = () => false
    instance.clock.advance(15 * 60_000)
    await instance.runDue()

    expect(answer.status).to.equal(202)
    expect(counts).to.deep.equal(delaysMs.map((_, index) => [index + 1, index + 2]))
    expect(waiting).to.include({ status: 'pending', reason: null })
    expect((await peers())[0]).to.include({ status: 'active' })
    expect(new Set(offers().map(({ hmacSecret }) => hmacSecret)).size).to.equal(1)
  })

  const refusals: [string, object, object][] = [
    ['an approval is needed there', { code: 'PEERING_REQUIRES_APPROVAL' }, { statusReason: 'denied_by_remote' }],
    ['it was revoked there', { code: 'PEER_REVOKED' }, { statusReason: 'revoked_by_remote' }],
    [
      'a server of the first generation revoked it',
      { error: 'Peering with this instance has been revoked' },
      { reason: 'revoked_by_peer' },
    ],
  ]
  for (const [name, body, shown] of refusals) {
    it(`is over when ${name}, unlike after another 403`, async () => {
      remote.answer = ({ path }, response) => path === acceptPath && void sendJson(response, 403, { error: 'No' })
      const first = await initiate()
      const [open] = await peers()
      remote.answer = ({ path }, response) =>
        path === acceptPath && void sendJson(response, 403, { error: 'No', ...body })
      const second = await initiate()
      const sent = remote.received.length
      instance.clock.advance(60 * 60_000)
      await instance.runDue()

      expect([first.status, second.status]).to.deep.equal([409, 409])
      expect(open).to.include({ status: 'pending', reason: 'refused_by_peer' })
      const acts = (await auditOf(instance, remote.origin)) as { action: string; detail: { code?: string } }[]
      expect(acts.map(({ action, detail }) => [action, detail.code])).to.deep.equal([
        ['peer.initiated', undefined],
        ['peer.initiation-refused', 'remote_refused'],
        ['peer.initiated', undefined],
        ['peer.initiation-refused', 'remote_refused'],
      ])
      expect((await peers())[0]).to.include({ status: 'rejected', ...shown })
      expect(remote.received).to.have.length(sent)
    })
  }
})

describe('being offered a peering', () => {
  let instance: TestInstance
  let remote: FakePeer

  before(async () => {
    instance = await startTestInstance('a')
  })
  after(() => instance[Symbol.asyncDispose]())
  beforeEach(async () => {
    remote = await startFakePeer('b')
    remote.secret = secretOfPeer
  })
  afterEach(() => remote[Symbol.asyncDispose]())

  const offer = (changes: object = {}) =>
    instance.call('POST', acceptPath, {
      body: { sourceOrigin: remote.origin, hmacSecret: secretOfPeer, instanceName: 'Fake', ...changes },
    })
  const stored = async () =>
    (await instance.deps.orm.em.fork().find(Peer, { origin: remote.origin })).map(
      ({ origin, host, secret, status }) => ({ origin, host, secret, status }),
    )

  /** Contract: 7, Handshake, asked. */
  it('never takes the secret of an offer: a fresh one is offered back with the token of the 202', async () => {
    const answer = await offer()
    const before = await stored()
    instance.clock.advance(1_000)
    await instance.runDue()
    const [sent] = remote.received
      .filter(({ path }) => path === acceptPath)
      .map(({ body }) => JSON.parse(body.toString()) as Record<string, string>)

    expect(answer.status).to.equal(202)
    expect(before[0]).to.include({ status: 'pending' })
    expect(sent?.approvalToken).to.equal(answer.body.approvalToken)
    expect(sent?.hmacSecret).to.not.equal(secretOfPeer)
    expect(await stored()).to.deep.equal([
      { origin: remote.origin, host: 'b.test', secret: sent?.hmacSecret, status: 'active' },
    ])
  })

  it('keeps nothing in force when the offer back is refused', async () => {
    remote.answer = ({ path }, response) =>
      path === acceptPath && void sendJson(response, 403, { error: 'No', code: 'PEERING_REQUIRES_APPROVAL' })
    await offer()
    instance.clock.advance(1_000)
    await instance.runDue()

    expect((await stored())[0]).to.include({ status: 'rejected' })
  })

  it('asks for the proof signed with the offered secret', async () => {
    await offer()

    const [question] = remote.received
    expect(question).to.include({ method: 'POST', path: epochPath })
    expect(question?.headers['x-federation-origin']).to.equal(instance.origin)
    expect(question?.body.toString()).to.equal('{}')
  })

  it('refuses a caller that claims an origin that is not its own, and keeps nothing of it', async () => {
    remote.secret = 'b'.repeat(64)

    const answer = await offer()

    expect(answer.status).to.equal(403)
    expect(answer.body).to.include({ accepted: false, statusCode: 403 })
    expect(await stored()).to.deep.equal([])
  })

  for (const [name, answerProof] of Object.entries(impostures)) {
    it(`makes no peer of one whose proof is ${name}`, async () => {
      remote.answer = (request, response) => void answerProof(remote, request, response)

      const { status } = await offer()

      // Where nothing answered, the proof is repeated before anything else.
      expect(status).to.be.oneOf([202, 403])
      expect(await stored()).to.deep.equal([])
    })
  }

  /** Contract: 7, Known peers. */
  it('never gives an active peer another secret', async () => {
    await buildPeer(instance, { host: 'b.test', origin: remote.origin, secret: 'e'.repeat(64) })

    const answer = await offer()

    expect(answer.status).to.equal(409)
    expect(answer.body).to.include({ accepted: false, code: 'PEER_EXISTS_RESET_REQUIRED', statusCode: 409 })
    expect(answer.body.error).to.be.a('string')
    expect(remote.received).to.deep.equal([])
    expect(await stored()).to.deep.include({
      origin: remote.origin,
      host: 'b.test',
      secret: 'e'.repeat(64),
      status: 'active',
    })
  })

  it('keeps one of many offers that come at a time', async () => {
    const answers = await Promise.all(Array.from({ length: 16 }, () => untilAvailable(() => offer())))

    expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([202]))
    expect(await stored()).to.have.length(1)
  })

  /** Contract: 7, Refusals of an offer. */
  it('keeps at most a hundred offers that are not proven', async () => {
    remote.answer = (_request, response) => void response.destroy()
    const em = instance.deps.orm.em.fork()
    await em.execute(`insert into approval_requests (id, source_origin, secret, approval_token, status)
      select n, 'https://i' || n || '.example', 'x', 'x', 'unproven' from generate_series(1, 100) n
      where not exists (select 1 from approval_requests r where r.id = n)`)

    const answer = await offer()
    await em.execute('delete from approval_requests where id <= 100')

    expect(answer.status).to.equal(503)
    expect(answer.headers.get('retry-after')).to.match(/^[0-9]+$/)
  })

  it('is 400 for faulty offers and for our own origin', async () => {
    const answers = await Promise.all([
      offer({ sourceOrigin: instance.origin }),
      offer({ sourceOrigin: 'b.test' }),
      offer({ sourceOrigin: 7 }),
      offer({ hmacSecret: 'short' }),
      offer({ hmacSecret: `enc1.${'a'.repeat(59)}` }),
      offer({ hmacSecret: undefined }),
    ])

    expect(answers.map(({ status }) => status)).to.deep.equal([400, 400, 400, 400, 400, 400])
    expect(remote.received).to.deep.equal([])
  })
})

async function auditOf(instance: TestInstance, origin: string): Promise<unknown[]> {
  const sql = "select action, actor_id as actor, target_id as target, detail from audit_log where detail->>'origin' = ?"
  return await instance.deps.orm.em.fork().execute(`${sql} order by id`, [origin])
}
