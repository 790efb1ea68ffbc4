import { expect } from 'chai'
import { policy } from '../src/policy.ts'
import { fakeInstanceId, buildPeer, secretOfPeer, sendJson, startFakePeer, type FakePeer } from './fake-peer.ts'
import { startTestInstance, type TestInstance } from './harness.ts'

const syncPath = '/api/federation/sync'
const epochPath = '/api/federation/epoch'

describe('what an active peer is asked after its activation', () => {
  let instance: TestInstance
  let remote: FakePeer

  beforeEach(async () => {
    instance = await startTestInstance('a')
    remote = await startFakePeer('b')
    remote.secret = secretOfPeer
    remote.now = () => instance.clock.now()
    await buildPeer(instance, { host: remote.host, origin: remote.origin })
    await instance.deps.orm.em.fork().execute('update peers set next_attempt_at = ?', [new Date(instance.clock.now())])
  })
  afterEach(async () => {
    await instance[Symbol.asyncDispose]()
    await remote[Symbol.asyncDispose]()
  })

  const row = async () => {
    const sql = 'select status, reason, attempts, instance_id, next_attempt_at from peers'
    const [peer] = await instance.deps.orm.em.fork().execute(sql)
    return peer as Record<string, unknown>
  }
  const runRounds = async (rounds: number) => {
    for (let round = 0; round < rounds; round += 1) {
      await instance.runDue()
      instance.clock.advance(60 * 60_000)
    }
  }
  const emptyPage = { events: [], hasMore: false, checkpoint: 0 }

  it('who it is, until it has said so', async () => {
    let questions = 0
    remote.answer = ({ path }, response) => {
      if (path === syncPath) return void sendJson(response, 200, emptyPage)
      questions += path === epochPath ? 1 : 0
      if (path !== epochPath || questions > 2) return false
      response.destroy()
    }

    await runRounds(5)

    expect(await row()).to.include({
      status: 'active',
      attempts: 0,
      instance_id: fakeInstanceId,
      next_attempt_at: null,
    })
    expect(questions).to.equal(3)
  })

  it('its profiles, and one that refuses to the end needs an admin', async () => {
    remote.answer = ({ path }, response) => {
      if (path !== syncPath) return false
      sendJson(response, 403, { error: 'unknown', statusCode: 403 })
    }

    await runRounds(policy.syncAttempts - 1)
    const before = await row()
    await runRounds(1)

    expect(before).to.include({ status: 'active' })
    expect(await row()).to.include({ status: 'needs_attention', reason: 'deliveries_refused' })
  })
})
