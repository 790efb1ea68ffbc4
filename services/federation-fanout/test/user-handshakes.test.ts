import type { ServerResponse } from 'node:http'
import { insertUser, answered } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { policy } from '../src/policy.ts'
import { sendAsPeer, sendJson, startFakePeer, type FakePeer } from './fake-peer.ts'
import { startTestInstance, type TestInstance } from './harness.ts'

const acceptPath = '/api/federation/peer/accept'

const refusals: Record<string, (response: ServerResponse) => void> = {
  '404': (response) => sendJson(response, 404, { error: 'Not found', statusCode: 404 }),
  '403 without a code': (response) => sendJson(response, 403, { error: 'No', statusCode: 403 }),
  '409': (response) => sendJson(response, 409, { code: 'PEER_EXISTS_RESET_REQUIRED', statusCode: 409 }),
  'a page': (response) => void response.writeHead(200).end('<html>Welcome</html>'),
}

/** Contract: 7, consent; protocol.md 2.2, peer/ensure. */
describe('a handshake that a user caused', () => {
  let instance: TestInstance
  let remote: FakePeer
  let userId: string

  beforeEach(async () => {
    instance = await startTestInstance('a')
    remote = await startFakePeer('b')
    remote.now = () => instance.clock.now()
    userId = (await insertUser(instance.deps)).id
  })
  afterEach(async () => {
    await instance[Symbol.asyncDispose]()
    await remote[Symbol.asyncDispose]()
  })

  const ensure = async () => {
    const body = { remoteOrigin: remote.origin }
    return (await instance.call('POST', '/api/federation/peer/ensure', { as: { id: userId }, body })).body.peeringStatus
  }

  for (const [name, refuse] of Object.entries(refusals)) {
    it(`is repeated after the answer ${name}, as its status says`, async () => {
      remote.answer = ({ path }, response) => path === acceptPath && void refuse(response)
      const refused = await ensure()
      const [attempted] = remote.received
      remote.answer = () => false
      instance.clock.advance(policy.repeatDelaysMs[0])
      await instance.runDue()

      expect([refused, await ensure()]).to.deep.equal(['pending', 'active'])
      expect(remote.received.filter(({ path }) => path === acceptPath)).to.have.length(2)
      expect(attempted).to.include({ path: acceptPath })
    })
  }

  it('is repeated where an admin began it too, unless the other side must reset', async () => {
    remote.answer = ({ path }, response) => path === acceptPath && void refusals['404']!(response)
    await answered(instance.admin('POST', '/api/federation/peer/initiate', { remoteOrigin: remote.origin }), 409)
    remote.answer = () => false
    instance.clock.advance(policy.repeatDelaysMs[0])
    await instance.runDue()

    expect(await ensure()).to.equal('active')
  })

  it('waits for an admin where one began it and the other side must reset', async () => {
    remote.answer = ({ path }, response) => path === acceptPath && void refusals['409']!(response)
    await answered(instance.admin('POST', '/api/federation/peer/initiate', { remoteOrigin: remote.origin }), 409)

    expect(await ensure()).to.equal('admin_required')
  })

  describe('does not count once autoAcceptPeering is off:', () => {
    const switchOff = async () =>
      await instance.deps.orm.em.fork().execute('update instance_settings set auto_accept_peering = false')
    const status = async () => {
      const { body } = await instance.admin('GET', '/api/federation/peers')
      return (body.peers as { status: string }[])[0]?.status
    }

    it('nothing more is sent, and the wish waits for an admin', async () => {
      remote.answer = (_request, response) => void response.destroy()
      const before = await ensure()
      const sent = remote.received.length
      remote.answer = () => false
      await switchOff()
      instance.clock.advance(60 * 60_000)
      await instance.runDue()
      const unsent = remote.received.length
      const after = await ensure()
      const { body } = await instance.admin('GET', '/api/federation/approval-requests')
      const [request, ...others] = body.requests as { id: string; direction: string }[]
      await answered(instance.admin('POST', `/api/federation/approval-requests/${request?.id}/approve`))

      expect([before, after]).to.deep.equal(['pending', 'admin_required'])
      expect(unsent).to.equal(sent)
      expect([request?.direction, others]).to.deep.equal(['outbound', []])
      expect(await status()).to.equal('active')
    })

    it('an answer that comes then makes no peer, nor does its proof', async () => {
      remote.answer = ({ path, body }, response) => {
        if (path !== acceptPath) return false
        remote.secret = (JSON.parse(body.toString()) as { hmacSecret: string }).hmacSecret
        void switchOff().then(() => sendJson(response, 200, { accepted: true }))
      }

      const answered = await ensure()

      expect(remote.received.at(-1)).to.include({ path: '/api/federation/epoch' })
      expect([answered, await status()]).to.deep.equal(['pending', 'pending'])
    })

    it('a request signed with the offered secret is refused', async () => {
      remote.answer = ({ path }, response) => path === acceptPath && void sendJson(response, 202, { queued: true })
      await ensure()
      await switchOff()
      const [offer] = remote.received
      const { hmacSecret: secret } = JSON.parse(offer!.body.toString()) as { hmacSecret: string }
      const message = ['POST', '/api/federation/sync', { sinceTimestamp: 0, limit: 1 }] as [string, string, object]

      const answer = await sendAsPeer(instance, message, { origin: remote.origin, secret })

      expect([answer.status, await status()]).to.deep.equal([403, 'awaiting_approval'])
    })
  })
})
