import { answered, untilAvailable } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { buildPeer, fakeInstanceId, secretOfPeer, sendJson, startFakePeer, type FakePeer } from './fake-peer.ts'
import { startTestInstance, type TestInstance } from './harness.ts'

type RequestBody = { id: string; origin: string; direction: string }
const acceptPath = '/api/federation/peer/accept'
const deniedPath = '/api/federation/peer/denied'
const day = 24 * 60 * 60_000

describe('peering that an admin has to approve', () => {
  let instance: TestInstance
  let remote: FakePeer

  before(async () => {
    instance = await startTestInstance('a', { autoAccept: false })
  })
  after(() => instance[Symbol.asyncDispose]())
  beforeEach(async () => {
    remote = await startFakePeer('b')
    remote.secret = secretOfPeer
    remote.now = () => instance.clock.now()
  })
  afterEach(() => remote[Symbol.asyncDispose]())

  const offer = (changes: object = {}) =>
    instance.call('POST', acceptPath, {
      body: { sourceOrigin: remote.origin, hmacSecret: secretOfPeer, instanceName: 'Fake', ...changes },
    })
  const list = () => instance.admin('GET', '/api/federation/approval-requests')
  const requests = async () =>
    ((await list()).body.requests as RequestBody[]).filter(({ origin }) => origin === remote.origin)
  const decide = (id: string, verdict: 'approve' | 'deny') =>
    instance.admin('POST', `/api/federation/approval-requests/${id}/${verdict}`)
  const peers = async () => {
    const { body } = await instance.admin('GET', '/api/federation/peers')
    return (body.peers as { id: string; origin: string; status: string; reason: string | null }[]).filter(
      ({ origin }) => origin === remote.origin,
    )
  }
  const statuses = async () => (await peers()).map(({ status }) => status)
  const posted = (path: string) =>
    remote.received
      .filter((request) => request.path === path)
      .map(({ body }) => JSON.parse(body.toString()) as Record<string, string>)
  const runAfter = async (ms: number) => {
    instance.clock.advance(ms)
    await instance.runDue()
  }

  it('waits in a list that shows neither secret nor token', async () => {
    const answer = await offer()
    const listed = await list()

    expect(answer.status).to.equal(202)
    expect(answer.body).to.include({ queued: true })
    expect(answer.body.approvalToken).to.match(/^[0-9a-f]{64}$/)
    expect((await requests())[0]).to.include({ origin: remote.origin, direction: 'inbound', instanceName: 'Fake' })
    expect((await requests())[0]).to.have.all.keys(
      'id',
      'origin',
      'direction',
      'instanceName',
      'requestedAt',
      'expiresAt',
    )
    expect(listed.bytes.toString()).to.not.include(secretOfPeer)
    expect(listed.bytes.toString()).to.not.include(answer.body.approvalToken)
    expect(await statuses()).to.deep.equal([])
  })

  it('shows no offer that is not proven', async () => {
    remote.secret = 'b'.repeat(64)

    const answer = await offer()

    expect(answer.status).to.equal(403)
    expect(answer.body).to.include({ code: 'PEERING_REQUIRES_APPROVAL' })
    expect(await requests()).to.deep.equal([])
  })

  it('keeps an offer whose origin does not answer, proves it again, and then shows it', async () => {
    remote.answer = (_request, response) => void response.destroy()
    const answer = await offer()
    const before = await requests()
    await runAfter(2_000)
    const stillBefore = await requests()
    remote.answer = () => false
    await runAfter(10_000)

    expect(answer.status).to.equal(202)
    expect([before, stillBefore]).to.deep.equal([[], []])
    expect(await requests()).to.have.length(1)
  })

  it('keeps an unproven offer against others in the name of its origin, which anybody can send', async () => {
    remote.answer = (_request, response) => void response.destroy()
    const answer = await offer()
    const stranger = await offer({ hmacSecret: 'd'.repeat(64) })
    const repeated = await offer()
    remote.answer = () => false
    await runAfter(10_000)
    const [waiting] = await requests()
    await decide(waiting!.id, 'approve')

    expect([answer.status, stranger.status, repeated.status]).to.deep.equal([202, 503, 202])
    expect(stranger.headers.get('retry-after')).to.match(/^[0-9]+$/)
    expect(posted(acceptPath)[0]).to.include({ approvalToken: repeated.body.approvalToken as string })
    expect(await statuses()).to.deep.equal(['active'])
  })

  it('takes a proven offer in the place of an unproven one, when its origin has lost its secret', async () => {
    remote.answer = (_request, response) => void response.destroy()
    await offer()
    remote.answer = () => false
    remote.secret = 'c'.repeat(64)
    const answer = await offer({ hmacSecret: remote.secret })
    await runAfter(day)
    const [waiting] = await requests()
    await decide(waiting!.id, 'approve')

    expect(posted(acceptPath)[0]).to.include({ approvalToken: answer.body.approvalToken as string })
    expect(await statuses()).to.deep.equal(['active'])
  })

  it('forgets an unproven offer after a day', async () => {
    remote.answer = (_request, response) => void response.destroy()
    await offer()
    await runAfter(day)
    remote.answer = () => false
    await runAfter(day)

    expect(await requests()).to.deep.equal([])
  })

  it('waits once for each origin, and is approved with the token that was given last', async () => {
    await offer()
    remote.secret = 'c'.repeat(64)
    const { body } = await offer({ hmacSecret: remote.secret })
    const [waiting, ...more] = await requests()

    const approved = await decide(waiting!.id, 'approve')

    const [sent] = posted(acceptPath)
    expect(more).to.deep.equal([])
    expect(approved.status).to.equal(200)
    expect(sent).to.include({ sourceOrigin: instance.origin, approvalToken: body.approvalToken as string })
    expect(sent?.hmacSecret).to.match(/^[0-9a-f]{64}$/)
    expect(['c'.repeat(64), secretOfPeer]).to.not.include(sent?.hmacSecret)
    expect(await peers()).to.have.length(1)
    expect((await peers())[0]).to.include({ status: 'active', instanceId: fakeInstanceId })
    expect((await decide(waiting!.id, 'approve')).status).to.equal(409)
    expect((await decide(waiting!.id, 'deny')).status).to.equal(409)
  })

  it('goes on with an approval whose offer did not arrive', async () => {
    await offer()
    const [{ id }] = (await requests()) as [RequestBody]
    remote.answer = (_request, response) => void response.destroy()

    const approved = await decide(id, 'approve')
    const before = await statuses()
    remote.answer = () => false
    await runAfter(60_000)

    expect([approved.status, before]).to.deep.equal([200, ['pending']])
    expect(await statuses()).to.deep.equal(['active'])
    expect(new Set(posted(acceptPath).map(({ hmacSecret }) => hmacSecret)).size).to.equal(1)
  })

  it('tells the other side of a denial until it has heard, and refuses its later offers', async () => {
    await offer()
    const [{ id }] = (await requests()) as [RequestBody]
    remote.answer = ({ path }, response) => path === deniedPath && void sendJson(response, 500, {})

    const denied = await decide(id, 'deny')
    await runAfter(0)
    remote.answer = () => false
    await runAfter(60_000)
    const heard = posted(deniedPath).length
    await runAfter(day)
    const again = await offer()

    expect([denied.status, again.status]).to.deep.equal([200, 403])
    expect(again.body).to.include({ code: 'PEERING_REQUIRES_APPROVAL', accepted: false })
    expect(posted(deniedPath)[0]).to.include({ origin: instance.origin, reason: 'denied_by_admin' })
    expect(posted(deniedPath)).to.have.length(heard)
    expect(await peers()).to.have.length(1)
    expect((await peers())[0]).to.include({ status: 'rejected', reason: 'denied_by_admin' })
  })

  const lifts = {
    'an admin has initiated': () =>
      instance.admin('POST', '/api/federation/peer/initiate', { remoteOrigin: remote.origin }),
    'the peer was revoked': async () =>
      await instance.admin('DELETE', `/api/federation/peers/${(await peers())[0]!.id}`),
  }
  for (const [name, lift] of Object.entries(lifts)) {
    it(`tells of no denial any more once ${name}`, async () => {
      await offer()
      remote.answer = ({ path }, response) => path === deniedPath && void sendJson(response, 503, {})
      await decide((await requests())[0]!.id, 'deny')
      await runAfter(0)
      const told = posted(deniedPath).length
      remote.answer = ({ path }, response) => path === acceptPath && void sendJson(response, 202, { queued: true })
      await lift()
      await runAfter(day)

      expect(told).to.be.at.least(1)
      expect(posted(deniedPath)).to.have.length(told)
    })
  }

  it('expires after thirty days, which the other side is told as well', async () => {
    await offer()
    await runAfter(30 * day - 1)
    const before = (await requests()).length
    await runAfter(1)
    await runAfter(0)

    expect(before).to.equal(1)
    expect(await requests()).to.deep.equal([])
    expect(posted(deniedPath)[0]).to.include({ reason: 'expired' })
    expect((await offer()).status).to.equal(403)
  })

  it('ends when the peer is revoked before its proof is there', async () => {
    await offer()
    const [{ id }] = (await requests()) as [RequestBody]
    remote.answer = ({ path }) => {
      if (path !== acceptPath) return false
      void peers().then(([peer]) => instance.admin('DELETE', `/api/federation/peers/${peer!.id}`))
    }
    void decide(id, 'approve')
    await new Promise<void>((resolve) => {
      const look = async () => ((await statuses())[0] === 'revoked' ? resolve() : void setImmediate(() => void look()))
      void look()
    })
    remote.answer = () => false
    await runAfter(day)

    expect(await statuses()).to.deep.equal(['revoked'])
    expect(posted(acceptPath)).to.have.length(1)
  })

  it('is decided once by many admins at a time', async () => {
    await offer()
    const [{ id }] = (await requests()) as [RequestBody]

    const verdicts = Array.from({ length: 8 }, (_, n) => untilAvailable(() => decide(id, n % 2 ? 'deny' : 'approve')))
    const answers = (await Promise.all(verdicts)).map(({ status }) => status)

    expect(answers.filter((status) => status === 200)).to.have.length(1)
    expect(answers.filter((status) => status === 409)).to.have.length(7)
  })

  it('waits for the reset of a peer that needs attention, and is refused where there is a peer already', async () => {
    await offer()
    const [{ id }] = (await requests()) as [RequestBody]
    await buildPeer(instance, { ...remote, secret: secretOfPeer, status: 'needs_attention' })
    const codeOf = async () => {
      const { status, body } = await decide(id, 'approve')
      return [status, body.code]
    }

    const before = await codeOf()
    const [peer] = await peers()
    await answered(instance.admin('POST', `/api/federation/peers/${peer?.id}/recheck`))
    const after = await codeOf()

    expect([before, after]).to.deep.equal([
      [409, 'peer_needs_reset'],
      [409, 'peer_exists'],
    ])
    expect([await statuses(), (await requests()).map((request) => request.id)]).to.deep.equal([['active'], [id]])
    expect(posted(acceptPath)).to.deep.equal([])
  })

  it('is 404 for requests that are not there', async () => {
    expect((await decide('123', 'approve')).status).to.equal(404)
    expect((await decide('123', 'deny')).status).to.equal(404)
    expect((await decide('x', 'deny')).status).to.equal(400)
  })
})
