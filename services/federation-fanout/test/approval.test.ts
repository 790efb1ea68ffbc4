import { eventually } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { secretOfPeer, sendSignedJson, startFakePeer, type FakePeer } from './fake-peer.ts'
import { startTestInstance, type TestInstance } from './harness.ts'

type RequestBody = { id: string; sourceOrigin: string; status: string }

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
  })
  afterEach(() => remote[Symbol.asyncDispose]())

  const offer = (changes: object = {}) =>
    instance.call('POST', '/api/federation/peer/accept', {
      body: { sourceOrigin: remote.origin, hmacSecret: secretOfPeer, instanceName: 'Fake', ...changes },
    })
  const list = () => instance.admin('GET', '/api/federation/approval-requests')
  const requests = async () =>
    ((await list()).body.requests as RequestBody[]).filter(({ sourceOrigin }) => sourceOrigin === remote.origin)
  const decide = (id: string, verdict: 'approve' | 'deny') =>
    instance.admin('POST', `/api/federation/approval-requests/${id}/${verdict}`)
  const peerStatuses = async () => {
    const { body } = await instance.admin('GET', '/api/federation/peers')
    const peers = body.peers as { origin: string; status: string }[]
    return peers.filter(({ origin }) => origin === remote.origin).map(({ status }) => status)
  }

  it('waits in a list that shows no secret', async () => {
    const answer = await offer()
    const listed = await list()

    expect([answer.status, answer.body]).to.deep.equal([202, { accepted: false, pending: true }])
    expect(await requests()).to.have.length(1)
    expect((await requests())[0]).to.include({
      sourceOrigin: remote.origin,
      status: 'pending',
      instanceName: 'Fake',
      instanceId: 'fake-id',
    })
    expect(listed.bytes.toString()).to.not.include(secretOfPeer)
    expect(await peerStatuses()).to.deep.equal([])
  })

  it('does not bother the admin with offers that are not proven', async () => {
    remote.secret = 'b'.repeat(64)

    expect((await offer()).status).to.equal(403)
    expect(await requests()).to.deep.equal([])
  })

  it('waits once for each origin, with the secret that was proven last', async () => {
    await offer()
    remote.secret = 'c'.repeat(64)
    await offer({ hmacSecret: remote.secret })
    const [waiting, ...more] = await requests()

    const approved = await decide(waiting!.id, 'approve')

    expect(more).to.deep.equal([])
    expect(approved.status).to.equal(200)
    expect(await peerStatuses()).to.deep.equal(['active'])
  })

  it('makes the peer active when it is approved and proves the secret again', async () => {
    await offer()
    const [{ id }] = (await requests()) as [RequestBody]

    const approved = await decide(id, 'approve')

    expect([approved.status, approved.body]).to.deep.equal([200, { success: true }])
    expect(await peerStatuses()).to.deep.equal(['active'])
    expect((await requests())[0]).to.include({ status: 'approved' })
    expect((await decide(id, 'approve')).status).to.equal(409)
    expect((await decide(id, 'deny')).status).to.equal(409)
  })

  it('keeps waiting when the approved instance cannot prove it any more', async () => {
    await offer()
    const [{ id }] = (await requests()) as [RequestBody]
    remote.secret = 'd'.repeat(64)

    const unproven = await decide(id, 'approve')
    remote.secret = secretOfPeer
    const approved = await decide(id, 'approve')

    expect([unproven.status, approved.status]).to.deep.equal([409, 200])
    expect(await peerStatuses()).to.deep.equal(['active'])
  })

  it('makes no peer of one that is denied, which may ask again', async () => {
    await offer()
    const [{ id }] = (await requests()) as [RequestBody]

    const denied = await decide(id, 'deny')
    const again = await offer()

    expect([denied.status, again.status]).to.deep.equal([200, 202])
    expect(await peerStatuses()).to.deep.equal([])
    expect((await requests()).map(({ status }) => status)).to.deep.equal(['pending', 'denied'])
  })

  it('takes back an approval that has not come through when it is denied', async () => {
    await offer()
    const [{ id }] = (await requests()) as [RequestBody]
    remote.answer = (_request, response) => void response.destroy()
    await decide(id, 'approve')
    await decide(id, 'deny')
    remote.answer = () => false

    expect((await offer()).status).to.equal(202)
    expect(await peerStatuses()).to.deep.equal(['revoked'])
  })

  it('comes to nothing when the peer is revoked before its proof is there', async () => {
    await offer()
    const [{ id }] = (await requests()) as [RequestBody]
    const { secret } = remote
    remote.answer = (_request, response) => {
      void (async () => {
        const { body } = await instance.admin('GET', '/api/federation/peers')
        const peer = (body.peers as { id: string; origin: string }[]).find(({ origin }) => origin === remote.origin)
        await instance.admin('DELETE', `/api/federation/peers/${peer!.id}`)
        sendSignedJson(response, { secret: secret!, origin: remote.origin, body: { instanceId: 'fake-id' } })
      })()
    }

    const approved = await decide(id, 'approve')

    expect(approved.status).to.equal(409)
    expect(await peerStatuses()).to.deep.equal(['revoked'])
  })

  it('is decided once by many admins at a time', async () => {
    await offer()
    const [{ id }] = (await requests()) as [RequestBody]

    const verdicts = Array.from({ length: 8 }, (_, index) => decide(id, index % 2 ? 'deny' : 'approve'))
    const statuses = (await Promise.all(verdicts)).map(({ status }) => status)

    expect(statuses.filter((status) => status === 200)).to.have.length(1)
    expect(statuses.filter((status) => status === 409)).to.have.length(7)
  })

  it('is 404 for requests that are not there', async () => {
    expect((await decide('123', 'approve')).status).to.equal(404)
    expect((await decide('123', 'deny')).status).to.equal(404)
    expect((await decide('x', 'deny')).status).to.equal(400)
  })
})

describe('two instances', () => {
  let a: TestInstance
  let b: TestInstance

  const start = async (autoAccept: boolean) => {
    ;[a, b] = await Promise.all([startTestInstance('a', { autoAccept }), startTestInstance('b', { autoAccept })])
  }
  afterEach(async () => {
    await Promise.all([a[Symbol.asyncDispose](), b[Symbol.asyncDispose]()])
  })

  const initiate = (from: TestInstance, to: TestInstance) =>
    from.admin('POST', '/api/federation/peer/initiate', { remoteOrigin: to.origin })
  const peerOf = async (instance: TestInstance) => {
    const [row] = await instance.deps.orm.em.fork().execute('select id, secret, status from peers')
    return row as { id: string; secret: string; status: string }
  }
  const revoke = async (instance: TestInstance) =>
    await instance.admin('DELETE', `/api/federation/peers/${(await peerOf(instance)).id}`)

  it('become peers', async () => {
    await start(true)

    const answer = await initiate(a, b)

    expect(answer.status).to.equal(200)
    expect((await peerOf(a)).status).to.equal('active')
    expect(await peerOf(b)).to.include({ status: 'active', secret: (await peerOf(a)).secret })
  })

  it('become peers when the admin there approves, which the one that asked learns by itself', async () => {
    await start(false)
    const asked = await initiate(a, b)
    const [request] = (await b.admin('GET', '/api/federation/approval-requests')).body.requests as RequestBody[]

    const approved = await b.admin('POST', `/api/federation/approval-requests/${request!.id}/approve`)
    await eventually('the asking instance is a peer too', async () => (await peerOf(a)).status === 'active')

    expect([asked.status, approved.status]).to.deep.equal([202, 200])
    expect(await peerOf(b)).to.include({ status: 'active', secret: (await peerOf(a)).secret })
  })

  it('become peers when the admin there asks back instead of approving', async () => {
    await start(false)
    await initiate(a, b)

    const answer = await initiate(b, a)
    const requests = (await b.admin('GET', '/api/federation/approval-requests')).body.requests as RequestBody[]

    expect(answer.status).to.equal(200)
    expect((await peerOf(a)).status).to.equal('active')
    expect(await peerOf(b)).to.include({ status: 'active', secret: (await peerOf(a)).secret })
    expect(requests.map(({ status }) => status)).to.deep.equal(['approved'])
  })

  it('become peers again after one of them lost its side', async () => {
    await start(true)
    await initiate(a, b)
    await revoke(a)

    const refused = await initiate(a, b)
    await revoke(b)
    const accepted = await initiate(a, b)

    expect(refused.body).to.include({ statusCode: 409, code: 'PEER_EXISTS_RESET_REQUIRED' })
    expect(accepted.status).to.equal(200)
    expect(await peerOf(b)).to.include({ status: 'active', secret: (await peerOf(a)).secret })
  })

  for (const autoAccept of [true, false]) {
    it(`share one secret when both ask at once, ${autoAccept ? 'with' : 'without'} automatic acceptance`, async () => {
      await start(autoAccept)
      for (let round = 0; round < 10; round += 1) {
        const pair = round % 2 ? [initiate(a, b), initiate(b, a)] : [initiate(b, a), initiate(a, b)]
        const statuses = (await Promise.all(pair)).map(({ status }) => status)

        const [ofA, ofB] = [await peerOf(a), await peerOf(b)]
        expect(statuses.every((status) => [200, 202, 409].includes(status))).to.equal(true)
        expect([ofA.status, ofB.status]).to.deep.equal(['active', 'active'])
        expect(ofA.secret).to.equal(ofB.secret)
        await Promise.all([revoke(a), revoke(b)])
      }
    })
  }
})
