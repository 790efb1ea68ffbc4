import { Peer } from '@gatehouse/domain'
import { expect } from 'chai'
import { startTestInstance, type TestInstance } from './harness.ts'
import { answered } from '@gatehouse/test-kit'
import { movableClock } from '@gatehouse/test-kit/time'

const day = 24 * 60 * 60_000

describe('two instances', () => {
  let a: TestInstance
  let b: TestInstance
  const clock = movableClock()

  const start = async (autoAccept: boolean) => {
    const options = { autoAccept, resources: { clock } }
    ;[a, b] = await Promise.all([startTestInstance('a', options), startTestInstance('b', options)])
  }
  afterEach(async () => {
    await Promise.all([a[Symbol.asyncDispose](), b[Symbol.asyncDispose]()])
  })

  const initiate = (from: TestInstance, to: TestInstance) =>
    from.admin('POST', '/api/federation/peer/initiate', { remoteOrigin: to.origin })
  const peerOf = async (instance: TestInstance) => {
    const [peer] = await instance.deps.orm.em.fork().find(Peer, {})
    return (peer && { id: peer.id, secret: peer.secret, status: peer.status }) as {
      id: string
      secret: string
      status: string
    }
  }
  const revoke = async (instance: TestInstance) =>
    await instance.admin('DELETE', `/api/federation/peers/${(await peerOf(instance)).id}`)
  const forget = async (instance: TestInstance) => {
    const { id } = await peerOf(instance)
    await revoke(instance)
    await answered(instance.admin('DELETE', `/api/federation/peers/${id}/permanent`))
  }
  const run = async (rounds: number) => {
    for (let round = 0; round < rounds; round += 1) {
      clock.advance(3_000)
      await Promise.all([a.runDue(), b.runDue()])
    }
  }
  const expectPeers = async () => {
    const [ofA, ofB] = [await peerOf(a), await peerOf(b)]
    expect([ofA.status, ofB.status]).to.deep.equal(['active', 'active'])
    expect(ofA.secret).to.equal(ofB.secret)
  }

  it('become peers: the one that was asked answers with an offer of its own', async () => {
    await start(true)

    const answer = await initiate(a, b)
    const offered = (await peerOf(a)).secret
    await run(2)

    expect(answer.status).to.equal(202)
    await expectPeers()
    expect((await peerOf(a)).secret).to.not.equal(offered)
  })

  it('become peers when the admin there approves', async () => {
    await start(false)
    const asked = await initiate(a, b)
    await run(2)
    const { body } = await b.admin('GET', '/api/federation/approval-requests')
    const [request] = body.requests as { id: string }[]

    const approved = await b.admin('POST', `/api/federation/approval-requests/${request!.id}/approve`)

    expect([asked.status, approved.status]).to.deep.equal([202, 200])
    await expectPeers()
  })

  it('become peers when the admin there asks back instead of approving', async () => {
    await start(false)
    await initiate(a, b)

    await initiate(b, a)
    await run(6)

    await expectPeers()
    const { body } = await b.admin('GET', '/api/federation/approval-requests')
    expect(body.requests).to.deep.equal([])
  })

  it('become peers again after one of them lost its side', async () => {
    await start(true)
    await initiate(a, b)
    await run(2)
    await revoke(a)

    const refused = await initiate(a, b)
    await revoke(b)
    await initiate(a, b)
    const final = (await peerOf(b)).status
    await initiate(b, a)
    await run(6)

    expect(refused.body).to.include({ statusCode: 409, code: 'PEER_EXISTS_RESET_REQUIRED' })
    expect(final).to.equal('revoked')
    await expectPeers()
  })

  it('tell each other of a denial', async () => {
    await start(false)
    await initiate(a, b)
    const { body } = await b.admin('GET', '/api/federation/approval-requests')
    await answered(
      b.admin('POST', `/api/federation/approval-requests/${(body.requests as { id: string }[])[0]!.id}/deny`),
    )
    await run(2)

    expect([(await peerOf(a)).status, (await peerOf(b)).status]).to.deep.equal(['rejected', 'rejected'])
  })

  for (const autoAccept of [true, false]) {
    it(`share one secret when both ask at once, ${autoAccept ? 'with' : 'without'} automatic acceptance`, async () => {
      await start(autoAccept)
      for (let round = 0; round < 6; round += 1) {
        const pair = round % 2 ? [initiate(a, b), initiate(b, a)] : [initiate(b, a), initiate(a, b)]
        const answers = (await Promise.all(pair)).map(({ status }) => status)
        await run(8)

        expect(answers.every((status) => [200, 202, 409].includes(status))).to.equal(true)
        await expectPeers()
        await Promise.all([forget(a), forget(b)])
      }
    })
  }

  it('give up a handshake after thirty days', async () => {
    await start(true)
    await b[Symbol.asyncDispose]()
    await initiate(a, b)
    const before = (await peerOf(a)).status
    clock.advance(30 * day)
    await a.runDue()

    expect(before).to.equal('pending')
    expect(await peerOf(a)).to.equal(undefined)
    b = await startTestInstance('b')
  })
})
