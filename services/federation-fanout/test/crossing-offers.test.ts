import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { readSignedHeaders, verifySignature } from '../src/peers/signature.ts'
import { policy } from '../src/policy.ts'
import { secretOfPeer, sendJson, startFakePeer, type FakePeer, type Received } from './fake-peer.ts'
import { startTestInstance, type TestAnswer, type TestInstance } from './harness.ts'

const acceptPath = '/api/federation/peer/accept'
const epochPath = '/api/federation/epoch'
const syncPath = '/api/federation/sync'

/** Contract: 7, crossing offers; protocol.md 2.5. Both sides ask their admins, and both admins initiate. */
describe('an offer that our own has overtaken', () => {
  let instance: TestInstance
  let remote: FakePeer

  beforeEach(async () => {
    instance = await startTestInstance('a', { autoAccept: false })
    remote = await startFakePeer('b')
    remote.secret = secretOfPeer
    remote.now = () => instance.clock.now()
  })
  afterEach(async () => {
    await instance[Symbol.asyncDispose]()
    await remote[Symbol.asyncDispose]()
  })

  const initiate = () => instance.admin('POST', '/api/federation/peer/initiate', { remoteOrigin: remote.origin })
  const offer = () =>
    instance.call('POST', acceptPath, { body: { sourceOrigin: remote.origin, hmacSecret: secretOfPeer } })
  const isSignedWith = (secret: string, { headers, body }: Received) =>
    verifySignature({ secrets: [secret], body, signed: readSignedHeaders(headers)!, now: remote.now() }).verdict ===
    'ok'
  /** Answers the question for the proof of its own offer only when told to. */
  const holdProof = (otherwise: FakePeer['answer'] = () => false) => {
    const asked = Promise.withResolvers<ServerResponse>()
    remote.answer = (request, response) => {
      if (request.path !== epochPath || !isSignedWith(secretOfPeer, request)) return otherwise(request, response)
      asked.resolve(response)
    }
    return asked.promise
  }
  const refuseProof = (response: ServerResponse) => sendJson(response, 401, { error: 'bad signature', statusCode: 401 })

  /** What an existing instance does that holds our secret and waits for our offer with this token. */
  const awaitToken = (approvalToken: unknown) => {
    let isActive = false
    const presented: Record<string, unknown>[] = []
    remote.answer = ({ path, body }, response) => {
      if (path === syncPath && !isActive) return void sendJson(response, 403, { error: 'inactive', statusCode: 403 })
      if (path === syncPath) return void sendJson(response, 200, { events: [], hasMore: false, checkpoint: 0 })
      if (path !== acceptPath) return false
      const offered = JSON.parse(body.toString()) as Record<string, unknown>
      presented.push(offered)
      isActive = offered.approvalToken === approvalToken && offered.hmacSecret === remote.secret
      sendJson(response, isActive ? 200 : 202, isActive ? { accepted: true } : { queued: true, approvalToken: 'x' })
    }
    return { presented, isActive: () => isActive }
  }
  const expectSecondPass = async (answer: TestAnswer) => {
    expect(answer.status).to.equal(202)
    const { presented, isActive } = awaitToken(answer.body.approvalToken)
    instance.clock.advance(policy.secondPassDelayMs)
    await instance.runDue()
    instance.clock.advance(policy.repeatDelaysMs[0])
    await instance.runDue()
    const { body } = await instance.admin('GET', '/api/federation/peers')
    expect(isActive()).to.equal(true)
    expect(presented).to.have.length(1)
    expect((body.peers as object[])[0]).to.include({ origin: remote.origin, status: 'active' })
  }

  it('is answered 202, and ours is posted again with its token', async () => {
    let offered: Promise<TestAnswer> | undefined
    const question = holdProof(({ path, body }, response) => {
      if (path !== acceptPath) return false
      remote.secret = (JSON.parse(body.toString()) as { hmacSecret: string }).hmacSecret
      offered = offer()
      void question.then(() => sendJson(response, 200, { accepted: true }))
    })

    const initiated = await initiate()
    refuseProof(await question)

    expect(initiated.body.peer).to.include({ status: 'active' })
    await expectSecondPass(await offered!)
  })

  it('is answered so as well when it came first', async () => {
    const question = holdProof()
    const offered = offer()
    const held = await question

    const initiated = await initiate()
    refuseProof(held)

    expect(initiated.body.peer).to.include({ status: 'active' })
    await expectSecondPass(await offered)
  })

  it('has its token presented also when it came while the peer was being asked for its profiles', async () => {
    const question = holdProof()
    const offered = offer()
    const held = await question
    await initiate()
    let answer: TestAnswer | undefined
    remote.answer = ({ path }, response) => {
      if (path !== syncPath) return false
      refuseProof(held)
      void offered
        .then((given) => (answer = given))
        .then(() => sendJson(response, 200, { events: [], hasMore: false, checkpoint: 0 }))
    }
    await instance.runDue()

    await expectSecondPass(answer!)
  })
})
