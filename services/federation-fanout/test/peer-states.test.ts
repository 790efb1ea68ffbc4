import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { answered, countLockWaits, eventually, insertUser } from '@gatehouse/test-kit'
import { Peer } from '@gatehouse/domain'
import { checkHomeEpoch, deleteFederatedIdentity, detachHome, verifyAttachProof } from '@gatehouse/contracts'
import { OutboundFailure, type OutboundRequest } from '@gatehouse/outbound'
import { checkHome } from '../src/operations/ask-home.ts'
import { policy } from '../src/policy.ts'
import { hashToken, readSignature, verifySignature } from '../src/peers/signature.ts'
import {
  buildPeer,
  fakeInstanceId,
  secretOfPeer,
  sendAsPeer,
  sendJson,
  sendSignedJson,
  startFakePeer,
  type FakePeer,
} from './fake-peer.ts'
import { startTestInstance, type TestInstance } from './harness.ts'

const deniedPath = '/api/federation/peer/denied'
const admins = '/api/federation/peers'

/** Contract: 7, States of a peer. */
describe('the states of a peer', () => {
  let instance: TestInstance
  let remote: FakePeer

  before(async () => {
    instance = await startTestInstance('a')
  })
  after(() => instance[Symbol.asyncDispose]())
  beforeEach(async () => {
    remote = await startFakePeer('b')
    remote.secret = secretOfPeer
    remote.now = () => instance.clock.now()
  })
  afterEach(() => remote[Symbol.asyncDispose]())

  type Row = { id: string; status: string; reason: string | null; secret: string }
  const build = async (changes: Record<string, unknown> = {}) => {
    const { status = 'active', ...columns } = changes as { status?: 'active' }
    await buildPeer(instance, { host: remote.host, origin: remote.origin, status })
    for (const [column, value] of Object.entries(columns)) {
      await instance.deps.orm.em
        .fork()
        .execute(`update peers set ${column} = ? where origin = ?`, [value, remote.origin])
    }
    return await row()
  }
  const row = async () => {
    const peer = await instance.deps.orm.em.fork().findOne(Peer, { origin: remote.origin })
    return (peer ? { id: peer.id, status: peer.status, reason: peer.reason, secret: peer.secret } : undefined) as Row
  }
  const signed = (path: string, body: object, changes: object = {}) =>
    sendAsPeer(instance, ['POST', path, body], { origin: remote.origin, secret: secretOfPeer, ...changes })
  const denial = { origin: 'https://b.test', reason: 'denied_by_admin', message: 'No' }

  it('tells when it was seen and read last, its failures in a row, and the orders that are overdue', async () => {
    const { id } = await build({ failed_deliveries: 2, refused_deliveries: 1 })
    await instance.deps.orm.em.fork().execute(
      `insert into deletion_orders (user_id, origin, mode, state, given_at)
       select 1, origin, 'full', state, now() from (values (?, 'overdue'), ('https://elsewhere.test', 'waiting')) as o (origin, state)`,
      [remote.origin],
    )
    const tell = async () => {
      const { body } = await instance.admin('GET', admins)
      const peer = (body.peers as Record<string, unknown>[]).find((each) => each['id'] === id)
      return [peer?.['lastSeenAt'], peer?.['lastSyncedAt'], peer?.['failuresInRow'], peer?.['ordersOverdue']]
    }
    const before = await tell()
    const seenAt = instance.clock.now()
    await signed('/api/federation/epoch', {})
    instance.clock.advance(30_000)
    await signed('/api/federation/epoch', {})
    const after = await tell()

    expect([before, after]).to.deep.equal([
      [null, null, 3, 1],
      [seenAt, null, 3, 1],
    ])
  })

  for (const status of ['pending', 'awaiting_approval'] as const) {
    it(`${status}: a denial signed with our offer's secret ends it, another one does not`, async () => {
      await build({ status })

      const unsigned = await instance.call('POST', deniedPath, { body: denial })
      const wrong = await signed(deniedPath, denial, { secret: 'c'.repeat(64) })
      const before = (await row()).status
      const right = await signed(deniedPath, denial)

      expect([unsigned.status, wrong.status, before]).to.deep.equal([401, 401, status])
      expect([right.status, right.body]).to.deep.equal([200, { acknowledged: true }])
      expect(await row()).to.include({ status: 'rejected', reason: 'denied_by_peer' })
      expect((await row()).secret).to.not.equal(secretOfPeer)
    })
  }

  it('pending: a denial because nobody decided there in time says so', async () => {
    await build({ status: 'pending' })

    await signed(deniedPath, { ...denial, reason: 'expired' })
    const { body } = await instance.admin('GET', admins)

    const peer = (body.peers as Record<string, unknown>[]).find((each) => each['origin'] === remote.origin)
    expect(peer).to.include({ status: 'rejected', reason: 'expired_by_peer', statusReason: 'expired_on_remote' })
  })

  it('a denial where nothing waits is acknowledged and changes nothing', async () => {
    const unknown = await signed(deniedPath, denial)
    await build()
    const active = await signed(deniedPath, denial)

    expect([unknown.status, active.status]).to.deep.equal([200, 200])
    expect((await row()).status).to.equal('active')
  })

  it('pending: a signed request with the offered secret proves it, an epoch question does not', async () => {
    await build({ status: 'pending' })

    const question = await signed('/api/federation/epoch', {})
    const before = (await row()).status
    const sync = await signed('/api/federation/sync', { sinceTimestamp: 0, limit: 10 })

    expect([question.status, before]).to.deep.equal([200, 'pending'])
    expect(sync.status).to.equal(200)
    expect((await row()).status).to.equal('active')
  })

  /** Contract: 7, epoch. */
  it('an epoch question is answered in every state but revoked', async () => {
    const states = ['pending', 'awaiting_approval', 'active', 'unreachable', 'needs_attention', 'rejected', 'revoked']
    await build()
    const answers: number[] = []

    for (const status of states) {
      await instance.deps.orm.em.fork().execute('update peers set status = ? where origin = ?', [status, remote.origin])
      answers.push((await signed('/api/federation/epoch', {})).status)
    }

    expect(answers).to.deep.equal([200, 200, 200, 200, 200, 200, 403])
  })

  it('an offer with the token of the 202 is taken only if its origin proves it', async () => {
    await build({ status: 'awaiting_approval', approval_token_hash: hashToken('T') })
    const offer = (hmacSecret: string) =>
      instance.call('POST', '/api/federation/peer/accept', {
        body: { sourceOrigin: remote.origin, hmacSecret, approvalToken: 'T' },
      })

    const wrong = await offer('d'.repeat(64))
    const before = await row()
    remote.secret = 'e'.repeat(64)
    const right = await offer('e'.repeat(64))

    expect([wrong.status, before.secret]).to.deep.equal([403, secretOfPeer])
    expect([right.status, right.body.accepted]).to.deep.equal([200, true])
    expect(await row()).to.include({ status: 'active', secret: 'e'.repeat(64) })
  })

  it('needs_attention: reset forgets it, recheck makes it active when it proves the secret', async () => {
    const { id } = await build({ status: 'needs_attention', reason: 'deliveries_refused' })
    const unreset = await instance.admin('DELETE', `${admins}/${id}/permanent`)

    const rechecked = await instance.admin('POST', `${admins}/${id}/recheck`)
    const refused = await instance.admin('POST', `${admins}/${id}/reset`)
    await instance.deps.orm.em.fork().execute("update peers set status = 'needs_attention' where id = ?", [id])
    const reset = await instance.admin('POST', `${admins}/${id}/reset`)

    expect([unreset.status, rechecked.status, refused.status, reset.status]).to.deep.equal([409, 200, 409, 200])
    expect(rechecked.body.peer).to.include({ status: 'active', reason: null })
    expect((await instance.admin('POST', `${admins}/1/recheck`)).status).to.equal(404)
    expect(await row()).to.equal(undefined)
  })

  /** Contract: 7, Epoch answers. */
  it('needs_attention: a recheck by another instance leaves it there, and says why', async () => {
    const { id } = await build({ status: 'needs_attention', instance_id: randomUUID() })

    const { body } = await instance.admin('POST', `${admins}/${id}/recheck`)

    expect(body.peer).to.include({ status: 'needs_attention', reason: 'peer_reset_detected' })
  })

  it('needs_attention: a recheck that tells who it is settles what its former instance left', async () => {
    const { id } = await build({ status: 'needs_attention', reason: 'deliveries_refused' })
    const em = instance.deps.orm.em.fork()
    const reset = 'insert into peer_resets (origin, host, instance_id) values (?, ?, ?)'
    await em.execute(reset, [remote.origin, remote.host, fakeInstanceId])

    const rechecked = await instance.admin('POST', `${admins}/${id}/recheck`)

    expect(rechecked.body.peer).to.include({ status: 'active', instanceId: fakeInstanceId })
    expect(await em.execute('select 1 from peer_resets where origin = ?', [remote.origin])).to.deep.equal([])
  })

  it('needs_attention: when another instance was first seen is remembered until the known one proves itself', async () => {
    const { id } = await build({ status: 'needs_attention', instance_id: randomUUID() })
    const execute = (sql: string, parameters: unknown[]) => instance.deps.orm.em.fork().execute(sql, parameters)
    const seen = () => execute('select seen_at from peer_resets where origin = ?', [remote.origin])
    const recheck = () => instance.admin('POST', `${admins}/${id}/recheck`)

    await recheck()
    const first = await seen()
    await recheck()
    const second = await seen()
    await execute('update peers set instance_id = ? where id = ?', [fakeInstanceId, id])
    await execute('update peer_resets set instance_id = ? where origin = ?', [fakeInstanceId, remote.origin])
    const { body } = await recheck()

    expect(first).to.have.length(1)
    expect(first[0]).to.have.property('seen_at').that.is.a('string')
    expect(second).to.deep.equal(first)
    expect(body.peer).to.include({ status: 'active' })
    expect(await seen()).to.deep.equal([])
  })

  it('is 409 peer_state for what its status does not allow, while it can be revoked in any', async () => {
    const possible = {
      reset: ['needs_attention'],
      permanent: ['rejected', 'revoked'],
      recheck: ['unreachable', 'needs_attention'],
      rotate: ['active'],
    }
    const statuses = ['pending', 'awaiting_approval', ...Object.values(possible).flat()] as Peer['status'][]
    const em = instance.deps.orm.em.fork()
    for (const status of new Set(statuses)) {
      const { host } = await buildPeer(instance, { host: `${status.replace('_', '-')}.example`, status })
      const { id } = await em.findOneOrFail(Peer, { host })
      for (const [act, among] of Object.entries(possible)) {
        if (among.includes(status)) continue
        const { status: answer, body } = await instance.admin(
          act === 'permanent' ? 'DELETE' : 'POST',
          `${admins}/${id}/${act}`,
        )
        expect([answer, body.code], `${act} while ${status}`).to.deep.equal([409, 'peer_state'])
      }
      await answered(instance.admin('DELETE', `${admins}/${id}`))
    }
  })

  it('revoked: it is forgotten for good by an admin only', async () => {
    const { id } = await build({ status: 'revoked' })

    const asUser = await instance.call('DELETE', `${admins}/${id}/permanent`, { as: { id: '2' } })
    const forgotten = await instance.admin('DELETE', `${admins}/${id}/permanent`)
    const again = await instance.admin('DELETE', `${admins}/${id}/permanent`)

    expect([asUser.status, forgotten.status, again.status]).to.deep.equal([403, 200, 404])
  })

  for (const [name, before, detached] of [
    ['set up anew', randomUUID(), ['b.test']],
    ['the same as before', fakeInstanceId, []],
  ] as const) {
    it(`revoked: an instance ${name} that signs before our proof has ended is asked who it is`, async () => {
      await build({ status: 'revoked', instance_id: before })
      const sync = { sinceTimestamp: 0, limit: 1 }
      remote.answer = ({ path, body }, response) => {
        if (path === '/api/federation/sync')
          return void sendJson(response, 200, { events: [], hasMore: false, checkpoint: 0 })
        if (path !== '/api/federation/peer/accept') return false
        const secret = (JSON.parse(body.toString()) as { hmacSecret: string }).hmacSecret
        remote.secret = secret
        void signed('/api/federation/sync', sync, { secret }).then(() => sendJson(response, 200, { accepted: true }))
      }
      const asked: string[] = []
      await using _identity = await instance.deps.bus.respond(detachHome, async ({ host }) => {
        asked.push(host)
        return { detached: 1, tombstoned: 0 }
      })

      await answered(instance.admin('POST', '/api/federation/peer/initiate', { remoteOrigin: remote.origin }))
      await instance.runDue()
      await instance.runDue()
      const relay = { version: 1, sourceInstance: remote.origin, sourceInstanceId: fakeInstanceId, events: [] }
      const relayed = await signed('/api/federation/relay', relay, { secret: remote.secret })

      const sql = 'select status, instance_id from peers where origin = ?'
      const [peer] = await instance.deps.orm.em.fork().execute(sql, [remote.origin])
      expect(relayed.status).to.equal(200)
      expect(peer).to.deep.equal({ status: 'active', instance_id: fakeInstanceId })
      expect(asked).to.deep.equal(detached)
    })
  }

  for (const [name, before, detached] of [
    ['set up anew', randomUUID(), ['b.test']],
    ['the same as before', fakeInstanceId, []],
  ] as const) {
    it(`pending: who it was is known after its end too, when an instance ${name} becomes a peer`, async () => {
      await build({ status: 'pending', instance_id: before, expires_at: new Date(instance.clock.now()) })
      const asked: string[] = []
      await using _identity = await instance.deps.bus.respond(detachHome, async ({ host }) => {
        asked.push(host)
        return { detached: 1, tombstoned: 0 }
      })

      await instance.runDue()
      const ended = await row()
      await answered(instance.admin('POST', '/api/federation/peer/initiate', { remoteOrigin: remote.origin }))
      await instance.runDue()

      expect(ended).to.equal(undefined)
      expect((await row()).status).to.equal('active')
      expect(asked).to.deep.equal(detached)
    })
  }

  /** Contract: 7, Detached accounts. */
  it('active: an instance set up anew has no word on the accounts of the former one, which wait to be detached', async () => {
    await build({ instance_id: fakeInstanceId, next_attempt_at: new Date(instance.clock.now()) })
    const reset = [remote.origin, 'b.test', randomUUID(), fakeInstanceId, new Date(instance.clock.now())]
    const sql =
      'insert into peer_resets (origin, host, instance_id, new_instance_id, next_attempt_at) values (?, ?, ?, ?, ?)'
    await instance.deps.orm.em.fork().execute(sql, reset)
    const pages: string[] = []
    remote.answer = ({ path }, response) => {
      if (path !== '/api/federation/sync') return false
      pages.push(path)
      sendJson(response, 200, { events: [], hasMore: false, checkpoint: 0 })
    }
    const deleted: string[] = []
    await using _deletion = await instance.deps.bus.respond(deleteFederatedIdentity, async ({ homeUserId }) => {
      deleted.push(homeUserId)
      return { outcome: 'deleted' as const }
    })
    const ask = async () => {
      const deletion = { homeUserId: '7', homeInstance: 'b.test', mode: 'full' }
      const by = { origin: remote.origin, secret: secretOfPeer }
      const answers = [
        await sendAsPeer(instance, ['DELETE', '/api/federation/identity', deletion], by),
        await signed('/api/federation/relay', { version: 1, events: [] }),
        await signed('/api/federation/epoch', {}),
      ]
      return answers.map(({ status, headers }) => [status, headers.get('retry-after')])
    }

    await instance.runDue()
    const before = [await ask(), [...pages], [...deleted]]
    await using _identity = await instance.deps.bus.respond(detachHome, async () => ({ detached: 1, tombstoned: 0 }))
    for (const _round of [1, 2]) {
      instance.clock.advance(policy.leaseMs)
      await instance.runDue()
    }

    expect(before).to.deep.equal([
      [
        [503, '1'],
        [503, '1'],
        [200, null],
      ],
      [],
      [],
    ])
    expect(await ask()).to.deep.equal([1, 2, 3].map(() => [200, null]))
    expect([pages.length, deleted]).to.deep.equal([1, ['7']])
  })

  it('an instanceId of a relay that cannot be stored is 400', async () => {
    await build()
    const relay = (source: object) => signed('/api/federation/relay', { version: 1, events: [], ...source })

    const answers = [
      await relay({ sourceInstanceId: 'a\0b' }),
      await relay({ sourceInstanceId: '\ud800' }),
      await relay({ sourceInstance: `${remote.origin}\0` }),
      await relay({ sourceInstance: remote.origin, sourceInstanceId: fakeInstanceId }),
    ]

    expect(answers.map(({ status }) => status)).to.deep.equal([400, 400, 400, 200])
  })

  it('homes of one host share the time that there is', async () => {
    await instance.deps.orm.em.fork().execute('delete from peers')
    const origins = ['https://b.test', 'https://b.test:8443']
    for (const origin of origins) await buildPeer(instance, { host: 'b.test', origin })
    await instance.deps.orm.em.fork().execute('update peers set instance_id = ?', [fakeInstanceId])
    const asked: OutboundRequest[] = []
    const request = async (given: OutboundRequest) => {
      asked.push(given)
      await pause(200)
      throw new OutboundFailure('timeout', 'late')
    }
    const outbound = { ...instance.deps.outbound, request }

    const { outcome } = await checkHome({ ...instance.deps, outbound }, { host: 'b.test', timeoutMs: 5_000 })

    expect(outcome).to.equal('unverified')
    expect(asked.map(({ url }) => new URL(url).origin)).to.have.members(origins)
    const [first = 0, second = 0] = asked.map(({ timeoutMs }) => timeoutMs)
    expect(first).to.be.at.most(5_000)
    expect(first - second).to.be.at.least(150)
  })

  it('a home that became active without saying who it is counts as the one that it was until it has', async () => {
    const ask = async () =>
      (await instance.deps.bus.request(checkHomeEpoch, { host: 'b.test', timeoutMs: 5_000 }, { timeoutMs: 6_000 }))
        .outcome
    await instance.deps.orm.em.fork().execute('delete from peers')
    await build({ status: 'pending', instance_id: fakeInstanceId })
    await signed('/api/federation/sync', { sinceTimestamp: 0, limit: 1 })
    remote.secret = 'c'.repeat(64)
    const unproven: string[] = []
    for (const status of ['unreachable', 'needs_attention', 'awaiting_approval', 'active']) {
      await instance.deps.orm.em.fork().execute('update peers set status = ?', [status])
      unproven.push(await ask())
    }
    remote.secret = secretOfPeer
    const same = await ask()
    await instance.deps.orm.em.fork().execute('update peer_resets set instance_id = ?', [randomUUID()])
    const different = await ask()
    await instance.deps.orm.em.fork().execute('delete from peer_resets')

    expect(unproven).to.deep.equal(Array(4).fill('unverified'))
    expect([same, different]).to.deep.equal(['same', 'changed'])
  })

  for (const status of ['rejected', 'revoked'] as const) {
    /** Contract: 7, Login repair. */
    it(`${status}: nothing is asked of its home, as of a stranger's, while the epoch of an active peer is compared`, async () => {
      const ask = async () => (await checkHome(instance.deps, { host: 'b.test', timeoutMs: 5_000 })).outcome
      await instance.deps.orm.em.fork().execute('delete from peers')
      await build({ status, instance_id: randomUUID() })

      const stranger = await ask()
      const received = remote.received.length
      await instance.deps.orm.em.fork().execute("update peers set status = 'active'")

      expect([stranger, received, await ask()]).to.deep.equal(['unknown', 0, 'changed'])
    })
  }

  it('rotates every 1 to 365 days', async () => {
    const { id } = await build()
    const patch = (autoRotateIntervalDays: unknown, of = id) =>
      instance.admin('PATCH', `${admins}/${of}`, { autoRotateIntervalDays })

    const answers = await Promise.all([1, 365, 0, 366, 1.5, '7', undefined].map((days) => patch(days)))

    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 400, 400, 400, 400, 400])
    expect((await patch(1, '7')).status).to.equal(404)
  })

  it('takes a new secret once, and the same one again', async () => {
    await build()
    const rotate = (newSecret: unknown) => signed('/api/federation/peer/rotate', { newSecret })

    const answers = [
      await rotate('a'.repeat(63)),
      await rotate('A'.repeat(64)),
      await rotate(7),
      await rotate('f'.repeat(64)),
      await rotate('f'.repeat(64)),
      await rotate('9'.repeat(64)),
    ]

    expect(answers.map(({ status }) => status)).to.deep.equal([400, 400, 400, 200, 200, 409])
    expect(answers[3]?.body).to.deep.equal({ accepted: true, gracePeriodMs: 900_000 })
    expect((await row()).secret).to.equal('f'.repeat(64))
  })

  /** Contract: 7, Rotation. */
  it('both secrets count for an hour after a rotation by the peer, then the new one only', async () => {
    await build()
    const next = 'f'.repeat(64)
    const ask = async (secret: string) =>
      (await signed('/api/federation/users/by-home-id', { homeUserId: 'x' }, { secret })).status

    await signed('/api/federation/peer/rotate', { newSecret: next })
    instance.clock.advance(60 * 60_000 - 1)
    const during = [await ask(secretOfPeer), await ask(next)]
    instance.clock.advance(1)
    const after = [await ask(secretOfPeer), await ask(next)]

    expect([during, after]).to.deep.equal([
      [200, 200],
      [401, 200],
    ])
  })

  it('both secrets count for an hour after a rotation of ours, and before its answer came', async () => {
    await build()
    let rotations = 0
    remote.answer = ({ path }, response) => {
      if (path !== '/api/federation/peer/rotate') return false
      rotations += 1
      if (rotations === 1) return void response.destroy()
      sendJson(response, 200, { accepted: true, gracePeriodMs: 900_000 })
    }
    const { id } = await row()
    const secrets = async () => {
      const { secret, nextSecret } = await instance.deps.orm.em.fork().findOneOrFail(Peer, { origin: remote.origin })
      return { secret, next_secret: nextSecret }
    }
    const ask = async (secret: string) =>
      (await signed('/api/federation/sync', { sinceTimestamp: 0, limit: 1 }, { secret })).status

    const lost = await instance.admin('POST', `${admins}/${id}/rotate`)
    const { secret: former, next_secret: next } = await secrets()
    const between = await ask(former)
    const done = await instance.admin('POST', `${admins}/${id}/rotate`)
    const current = (await secrets()).secret
    instance.clock.advance(60 * 60_000 - 1)
    const during = [await ask(former), await ask(current)]
    instance.clock.advance(1)
    const after = [await ask(former), await ask(current)]

    expect([lost.status, between, done.status]).to.deep.equal([503, 200, 200])
    expect(lost.body['code']).to.equal('remote_unreachable')
    expect(current).to.equal(next)
    expect([during, after]).to.deep.equal([
      [200, 200],
      [401, 200],
    ])
  })

  it('a rotation that the peer refuses changes nothing', async () => {
    await build()
    remote.answer = ({ path }, response) => {
      if (path !== '/api/federation/peer/rotate') return false
      sendJson(response, 409, { error: 'Rotation already in progress' })
    }
    const { id } = await row()

    const refused = await instance.admin('POST', `${admins}/${id}/rotate`)
    const { nextSecret } = await instance.deps.orm.em.fork().findOneOrFail(Peer, { origin: remote.origin })

    expect([refused.status, refused.body['code'], nextSecret]).to.deep.equal([409, 'rotation_refused', null])
  })

  it('a home is the same, another one, unproven or no peer', async () => {
    const ask = async () =>
      (await instance.deps.bus.request(checkHomeEpoch, { host: 'b.test', timeoutMs: 5_000 }, { timeoutMs: 6_000 }))
        .outcome
    await instance.deps.orm.em.fork().execute('delete from peers')
    const unknown = await ask()
    await build()
    const withoutId = await ask()
    await instance.deps.orm.em.fork().execute("update peers set instance_id = '0b8a5b0e-6a52-4b0c-9d0e-3f1f2a3b4c5d'")
    const same = await ask()
    remote.secret = 'c'.repeat(64)
    const unproven = await ask()
    remote.secret = secretOfPeer
    await instance.deps.orm.em.fork().execute('update peers set instance_id = ?', [randomUUID()])
    const different = await ask()

    expect([unknown, withoutId, same, unproven, different]).to.deep.equal([
      'unknown',
      'unknown',
      'same',
      'unverified',
      'changed',
    ])
    expect(await row()).to.include({ status: 'needs_attention', reason: 'peer_reset_detected' })
  })

  it('an attach proof is answered once, to the instance that it is for, signed', async () => {
    await build()
    const user = await insertUser(instance.deps)
    const suspended = await insertUser(instance.deps, { suspendedAt: 1 })
    const token = 'a'.repeat(64)
    const insert = async (given: { token: string; domain: string; lifeMs: number; userId?: string }) =>
      await instance.deps.orm.em
        .fork()
        .execute('insert into attach_proofs (token_hash, user_id, target_domain, expires_at) values (?, ?, ?, ?)', [
          hashToken(given.token),
          given.userId ?? user.id,
          given.domain,
          new Date(instance.clock.now() + given.lifeMs),
        ])
    await insert({ token, domain: 'b.test', lifeMs: 60_000 })
    await insert({ token: 'b'.repeat(64), domain: 'other.example', lifeMs: 60_000 })
    await insert({ token: 'c'.repeat(64), domain: 'b.test', lifeMs: 0 })
    await insert({ token: 'e'.repeat(64), domain: 'b.test', lifeMs: 60_000, userId: suspended.id })
    const ask = (asked: unknown) => signed('/api/federation/verify-attach-proof', { token: asked })

    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(token)))
    const others = await Promise.all(['b', 'c', 'd', 'e'].map((letter) => ask(letter.repeat(64))))

    const valid = answers.filter(({ body }) => body.valid)
    const seen = readSignature(Object.fromEntries(answers[0]!.headers))!
    const given = { secrets: [secretOfPeer], body: answers[0]!.bytes, signed: seen, now: instance.clock.now() }
    expect(valid.map(({ body }) => body)).to.deep.equal([{ valid: true, homeUserId: user.id, username: user.username }])
    expect(verifySignature(given).verdict).to.equal('ok')
    expect(others.map(({ body }) => body)).to.deep.equal(Array(4).fill({ valid: false }))
    expect((await ask('x')).status).to.equal(400)
  })

  it('an attach proof counts when the home confirms it by a signed answer', async () => {
    await instance.deps.orm.em.fork().execute('delete from peers')
    await build()
    const ask = async () =>
      await instance.deps.bus.request(
        verifyAttachProof,
        { host: 'b.test', token: 'a'.repeat(64) },
        { timeoutMs: 5_000 },
      )
    const body = { valid: true, homeUserId: '7', username: 'erin' }
    remote.answer = (_request, response) =>
      void sendSignedJson(response, { secret: secretOfPeer, body, timestamp: instance.clock.now() })
    const confirmed = await ask()
    const unstorable = { ...body, homeUserId: '7\0' }
    remote.answer = (_request, response) =>
      void sendSignedJson(response, { secret: secretOfPeer, body: unstorable, timestamp: instance.clock.now() })
    const unusable = await ask()
    remote.answer = (_request, response) => void sendJson(response, 200, body)
    const unsigned = await ask()
    remote.answer = (_request, response) => void response.destroy()
    const silent = await ask()

    expect(confirmed).to.deep.equal({ outcome: 'valid', homeUserId: '7', username: 'erin' })
    expect([unusable.outcome, unsigned.outcome]).to.deep.equal(['invalid', 'invalid'])
    expect(silent.outcome).to.equal('unreachable')
  })

  /** Contract: 7, Lookups. */
  it('lookups tell the color and when the profile changed, or when it was created', async () => {
    await build()
    const createdAt = new Date('2026-01-02T03:04:05.006Z')
    const erin = await insertUser(instance.deps, { username: 'erin', accentColor: '#aabbcc', profileUpdatedAt: 7 })
    const { id } = await insertUser(instance.deps, { username: 'anna', createdAt })

    const byName = await signed('/api/federation/users/lookup', { username: 'erin' })
    const byId = await signed('/api/federation/users/by-home-id', { homeUserId: id })

    expect(byName.body.user).to.deep.include({ homeUserId: erin.id, username: 'erin' })
    expect(byName.body.user).to.have.property('profile').that.includes({ accentColor: '#aabbcc', profileUpdatedAt: 7 })
    expect(byId.body.user)
      .to.have.property('profile')
      .that.includes({ accentColor: null, profileUpdatedAt: createdAt.getTime() })
  })

  /** Contract: 7, Account states. */
  it('lookups are remembered once each: the peers that asked hear what an admin decides about the user', async () => {
    await build()
    const { id } = await insertUser(instance.deps, { username: 'asked_for' })
    const { id: other } = await insertUser(instance.deps, { username: 'not_asked_for' })
    for (let time = 0; time < 2; time += 1) {
      await signed('/api/federation/users/lookup', { username: 'asked_for' })
      await signed('/api/federation/users/by-home-id', { homeUserId: id })
    }
    // Forgotten by an admin, and a peer again, it still holds the stub.
    await instance.deps.orm.em.fork().execute('delete from peers where origin = ?', [remote.origin])

    const sql = `select user_id::text as id, origin from profile_askers where user_id = any(?::bigint[])`
    const askers = await instance.deps.orm.em.fork().execute(sql, [`{${id},${other}}`])
    expect(askers).to.deep.equal([{ id, origin: remote.origin }])
  })

  /** Contract: 7, Account states. */
  it('a first lookup waits for a suspension that is not committed yet, of which its peer then hears', async () => {
    await build()
    const [lone, user] = [
      await insertUser(instance.deps, { username: 'left_alone' }),
      await insertUser(instance.deps, { username: 'late_asked' }),
    ]
    const suspension = instance.deps.orm.em.fork()
    await suspension.begin()
    await suspension.execute('update users set suspended_at = 5, suspension_changed_at = 5 where id = ?', [user.id])

    const lookups = [
      await signed('/api/federation/users/lookup', { username: 'left_alone' }),
      ...(await Promise.all([
        signed('/api/federation/users/lookup', { username: 'late_asked' }),
        eventually('the lookup waits', () => countLockWaits(instance.deps)).then(() => suspension.commit()),
      ])),
    ]

    expect(lookups.map((answer) => answer?.status)).to.deep.equal([200, 200, undefined])
    const sql = 'select user_id::text as id from federation_deliveries where user_id = any(?::bigint[])'
    const queued = await instance.deps.orm.em.fork().execute<{ id: string }[]>(sql, [`{${lone.id},${user.id}}`])
    expect(queued.map(({ id }) => id)).to.deep.equal([user.id])
  })

  it('lookups are limited to sixty a minute for each peer', async () => {
    await build()
    const answers = []
    instance.clock.advance(60_000)
    for (let count = 0; count < 61; count += 1) {
      answers.push(await signed('/api/federation/users/by-home-id', { homeUserId: 'x' }))
    }

    const last = answers.at(-1)
    expect(answers.slice(0, 60).every(({ status }) => status === 200)).to.equal(true)
    expect([last?.status, last?.headers.get('retry-after')]).to.deep.equal([429, '60'])
    expect(last?.body).to.include({ statusCode: 429, retryAfter: 60 })
  })
})
