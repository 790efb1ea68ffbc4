import { countLockWaits, eventually, insertUser } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { withPeer } from '../src/peers/with-peer.ts'
import { buildPeer, startFakePeer, type FakePeer } from './fake-peer.ts'
import { startTestInstance, type TestInstance } from './harness.ts'

type Act = {
  name: string
  status?: 'active' | 'needs_attention' | 'revoked'
  method: string
  path: string
  body?: object
}

const peers = '/api/federation/peers'
const acts: Act[] = [
  { name: 'revokes', method: 'DELETE', path: `${peers}/:id` },
  { name: 'forgets', status: 'revoked', method: 'DELETE', path: `${peers}/:id/permanent` },
  { name: 'resets', status: 'needs_attention', method: 'POST', path: `${peers}/:id/reset` },
  { name: 'rechecks', status: 'needs_attention', method: 'POST', path: `${peers}/:id/recheck` },
  { name: 'rotates the secret of', method: 'POST', path: `${peers}/:id/rotate` },
  { name: 'sets the rotation of', method: 'PATCH', path: `${peers}/:id`, body: { autoRotateIntervalDays: 5 } },
]

/** Finding: a request is judged when it is acted upon, not when its headers came. */
describe('an admin whose token was revoked after the gateway let the request through', () => {
  let instance: TestInstance
  let remote: FakePeer
  let actor: { id: string; username: string; isAdmin: boolean }

  before(async () => {
    instance = await startTestInstance('a', { autoAccept: false })
  })
  after(() => instance[Symbol.asyncDispose]())
  beforeEach(async () => {
    remote = await startFakePeer('b')
    const { id, username } = await insertUser(instance.deps, { isAdmin: true })
    actor = { id, username, isAdmin: true }
  })
  afterEach(() => remote[Symbol.asyncDispose]())

  const execute = async (sql: string, parameters: unknown[] = []) =>
    await instance.deps.orm.em.fork().execute<Record<string, unknown>[]>(sql, parameters)
  const build = async (status: Act['status'] = 'active') => {
    await buildPeer(instance, { host: remote.host, origin: remote.origin, status })
    const [row] = await execute('select * from peers where origin = ?', [remote.origin])
    return row as { id: string }
  }
  const run = async ({ method, path, body }: Act, id: string) =>
    await instance.call(method, path.replace(':id', id), { as: actor, ...(body && { body }) })
  const revocations = {
    'changed the password': 'update users set password_changed_at = 4102444800000 where id = ?',
    'is no admin any more': 'update users set is_admin = false where id = ?',
    'was deleted': 'update users set is_deleted = true where id = ?',
  }

  for (const act of acts) {
    it(`${act.name} no peer`, async () => {
      const before = await build(act.status)
      await execute(revocations['changed the password'], [actor.id])

      const { status } = await run(act, before.id)

      expect(status).to.equal(401)
      expect(await execute('select * from peers where origin = ?', [remote.origin])).to.deep.equal([before])
      expect(remote.received).to.deep.equal([])
      expect(await execute('select 1 from audit_log where actor_id = ?', [actor.id])).to.deep.equal([])
    })

    it(`${act.name} one while the token is good, and it is recorded`, async () => {
      const { id } = await build(act.status)

      const { status } = await run(act, id)

      expect(status).to.equal(200)
      expect(await execute('select 1 from audit_log where actor_id = ?', [actor.id])).to.have.length(1)
    })
  }

  for (const [name, sql] of Object.entries(revocations)) {
    it(`offers nothing, approves and denies nothing: ${name}`, async () => {
      const [request] = await execute(
        `insert into approval_requests (id, source_origin, secret, status)
         values (next_snowflake(), ?, 'x', 'pending') returning id`,
        [remote.origin],
      )
      const id = request?.id as string
      await execute(sql, [actor.id])

      const answers = [
        await instance.call('POST', '/api/federation/peer/initiate', {
          as: actor,
          body: { remoteOrigin: remote.origin },
        }),
        await instance.call('POST', `/api/federation/approval-requests/${id}/approve`, { as: actor }),
        await instance.call('POST', `/api/federation/approval-requests/${id}/deny`, { as: actor }),
      ]

      const refusal = name === 'is no admin any more' ? 403 : 401
      expect(answers.map(({ status }) => status)).to.deep.equal([refusal, refusal, refusal])
      expect(remote.received).to.deep.equal([])
      expect(await execute('select status from approval_requests where id = ?', [id])).to.deep.equal([
        { status: 'pending' },
      ])
      expect(await execute('select 1 from peers where origin = ?', [remote.origin])).to.deep.equal([])
    })
  }

  it('is refused when the revocation commits while the act waits for it', async () => {
    const { id } = await build()
    const act = acts[0]!
    const revoking = Promise.withResolvers<void>()
    const commit = Promise.withResolvers<void>()
    const revocation = instance.deps.orm.em.fork().transactional(async (em) => {
      await em.execute(revocations['is no admin any more'], [actor.id])
      revoking.resolve()
      await commit.promise
    })
    await revoking.promise

    const acting = run(act, id)
    await eventually('the act waits', async () => (await countLockWaits(instance.deps)) === 1)
    commit.resolve()
    await revocation

    expect((await acting).status).to.equal(403)
    expect(await execute('select status from peers where id = ?', [id])).to.deep.equal([{ status: 'active' }])
  })

  it('a user whose token was revoked asks for no peering', async () => {
    await build()
    await execute(revocations['changed the password'], [actor.id])

    const ensured = await instance.call('POST', '/api/federation/peer/ensure', {
      as: actor,
      body: { remoteOrigin: 'https://other.example' },
    })

    expect(ensured.status).to.equal(401)
    expect(remote.received).to.deep.equal([])
    expect(
      await execute("select 1 from approval_requests where source_origin = 'https://other.example'"),
    ).to.have.length(0)
  })

  it('a change that PostgreSQL ended to break a deadlock is made again', async () => {
    const { id } = await build()
    let attempts = 0

    await withPeer(instance.deps, { origin: remote.origin }, async (em, peer) => {
      attempts += 1
      peer!.instanceName = `attempt ${attempts}`
      if (attempts === 1) await em.execute(`do $$ begin raise exception using errcode = '40P01'; end $$`)
    })

    expect(attempts).to.equal(2)
    expect(await execute('select instance_name from peers where id = ?', [id])).to.deep.equal([
      { instance_name: 'attempt 2' },
    ])
  })
})
