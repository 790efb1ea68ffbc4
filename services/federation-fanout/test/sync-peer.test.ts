import { applyRemoteProfiles } from '@gatehouse/contracts'
import { expect } from 'chai'
import { policy } from '../src/policy.ts'
import { fakeInstanceId, buildPeer, secretOfPeer, sendJson, startFakePeer, type FakePeer } from './fake-peer.ts'
import { startTestInstance, type TestInstance } from './harness.ts'
import { answered } from '@gatehouse/test-kit'

const syncPath = '/api/federation/sync'
const acceptPath = '/api/federation/peer/accept'
const epochPath = '/api/federation/epoch'

const ends = {
  revoked: (instance: TestInstance, id: string) => instance.admin('DELETE', `/api/federation/peers/${id}`),
  forgotten: async (instance: TestInstance, id: string) => {
    await ends.revoked(instance, id)
    await answered(instance.admin('DELETE', `/api/federation/peers/${id}/permanent`))
  },
}

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
    const sql = `select id, status, reason, attempts, instance_id, next_attempt_at,
      profile_checkpoint::int as checkpoint, synced_at is not null as is_synced from peers`
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

  it('at 403 to take our offer again, whose 202 is taken like every other', async () => {
    remote.answer = ({ path }, response) => {
      if (path === syncPath) return void sendJson(response, 403, { error: 'unknown', statusCode: 403 })
      if (path === acceptPath) return void sendJson(response, 202, { queued: true, approvalToken: 'T' })
      return false
    }
    await instance.runDue()
    const waiting = await row()
    remote.secret = 'e'.repeat(64)
    const approval = { sourceOrigin: remote.origin, hmacSecret: remote.secret, approvalToken: 'T' }
    const approved = await instance.call('POST', acceptPath, { body: approval })

    expect(waiting).to.include({ status: 'awaiting_approval' })
    expect(approved.status).to.equal(200)
    expect(await row()).to.include({ status: 'active' })
  })

  it('nothing more when it answers our offer that its admin has denied it', async () => {
    remote.answer = ({ path }, response) => {
      if (path === epochPath) return false
      sendJson(response, 403, { error: 'denied', code: 'PEERING_REQUIRES_APPROVAL', statusCode: 403 })
    }

    await instance.runDue()

    expect(await row()).to.include({ status: 'rejected', reason: 'refused_by_peer', next_attempt_at: null })
  })

  const profile = (homeUserId: string) => ({
    eventType: 'profile_update',
    contextType: 'profile',
    messageId: homeUserId,
    timestamp: 1,
    profileUpdate: { homeUserId, homeInstance: remote.origin, profileUpdatedAt: 1, username: homeUserId },
  })
  /** Each page holds one profile and says that there are more; `beforePage` is told the number of the page. */
  const answerEndlessly = (beforePage: (page: number) => Promise<unknown> = async () => undefined) => {
    const asked: number[] = []
    remote.answer = ({ path, body }, response) => {
      if (path !== syncPath) return false
      const since = (JSON.parse(body.toString()) as { sinceTimestamp: number }).sinceTimestamp
      asked.push(since)
      const page = { events: [profile(String(asked.length))], hasMore: true, checkpoint: since + 1 }
      void beforePage(asked.length).then(() => sendJson(response, 200, page))
    }
    return asked
  }
  const collectApplied = async () => {
    const applied: string[] = []
    const identity = await instance.deps.bus.respond(applyRemoteProfiles, async ({ profiles }) => {
      applied.push(...profiles.map(({ homeUserId }) => homeUserId))
      return { applied: profiles.length }
    })
    return { applied, [Symbol.asyncDispose]: () => identity[Symbol.asyncDispose]() }
  }

  it('a bounded number of pages in one run, and the rest in the next', async () => {
    const asked = answerEndlessly()
    await using identity = await collectApplied()

    await instance.runDue()
    const first = asked.length
    await instance.runDue()

    expect(first).to.equal(policy.syncPagesPerRun)
    expect(asked).to.deep.equal(Array.from({ length: 2 * policy.syncPagesPerRun }, (_, index) => index))
    expect(identity.applied).to.have.length(asked.length)
    expect(await row()).to.include({ status: 'active', attempts: 0 })
  })

  it('again for a page that identity could not apply, and only then is it read to the end', async () => {
    const asked: unknown[] = []
    remote.answer = ({ path, body }, response) => {
      if (path !== syncPath) return false
      asked.push((JSON.parse(body.toString()) as Record<string, unknown>)['sinceTimestamp'])
      sendJson(response, 200, { events: [profile('7')], hasMore: false, checkpoint: 5 })
    }

    await instance.runDue()
    const meanwhile = await row()
    await using identity = await collectApplied()
    instance.clock.advance(policy.repeatDelaysMs[0])
    await instance.runDue()

    expect(asked).to.deep.equal([0, 0])
    expect(meanwhile).to.include({ status: 'active', attempts: 1, checkpoint: 0, is_synced: false })
    expect(identity.applied).to.deep.equal(['7'])
    expect(await row()).to.include({ attempts: 0, next_attempt_at: null, checkpoint: 5, is_synced: true })
  })

  it('and identity takes a page in parts that has more profiles than one call', async () => {
    const ids = Array.from({ length: 2 * policy.relayEventsMax + 1 }, (_, index) => String(index))
    remote.answer = ({ path }, response) => {
      if (path !== syncPath) return false
      sendJson(response, 200, { events: ids.map((id) => profile(id)), hasMore: false, checkpoint: 5 })
    }
    await using identity = await collectApplied()

    await instance.runDue()

    expect(identity.applied).to.deep.equal(ids)
    expect(await row()).to.include({ checkpoint: 5, is_synced: true })
  })

  it('for what follows the last one by its id, where profiles share a millisecond', async () => {
    const asked: unknown[] = []
    remote.answer = ({ path, body }, response) => {
      if (path !== syncPath) return false
      const { sinceTimestamp, afterId } = JSON.parse(body.toString()) as Record<string, unknown>
      asked.push([sinceTimestamp, afterId])
      const checkpointId = String(asked.length)
      sendJson(response, 200, { events: [], hasMore: asked.length < 4, checkpoint: 7, checkpointId })
    }

    await instance.runDue()

    expect(asked).to.deep.equal([
      [0, undefined],
      [7, '1'],
      [7, '2'],
      [7, '3'],
    ])
  })

  for (const [name, end] of Object.entries(ends)) {
    it(`nothing more once it was ${name}, and what it answers then is not applied`, async () => {
      const { id } = await row()
      const asked = answerEndlessly(async (page) => page === 2 && (await end(instance, String(id))))
      await using identity = await collectApplied()

      await instance.runDue()
      await instance.runDue()

      expect(asked).to.deep.equal([0, 1])
      expect(identity.applied).to.deep.equal(['1'])
    })
  }

  it('nor is it offered the secret that it had, once it was revoked', async () => {
    const { id } = await row()
    remote.answer = ({ path }, response) => {
      if (path !== syncPath) return false
      void ends.revoked(instance, String(id)).then(() => sendJson(response, 403, { error: 'unknown', statusCode: 403 }))
    }

    await instance.runDue()

    expect(remote.received.map(({ path }) => path)).to.deep.equal([epochPath, syncPath])
  })
})
