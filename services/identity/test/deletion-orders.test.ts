import { deleteIdentitiesAtPeers, type FanoutResult } from '@gatehouse/contracts'
import { DeletionOrder, type User } from '@gatehouse/domain'
import { answered } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { startOrders } from '../src/operations/deletion/delete-remote-identities.ts'
import { buildPeer, buildUser, readUser, rememberAsker } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'

const minute = 60_000
const day = 24 * 60 * minute
const path = '/api/users/@me/federation-identity'
const [a, b, c] = ['https://a.example', 'https://b.example', 'https://c.example'] as const
const silent: FanoutResult = { success: false, error: 'timeout', order: 'waiting' }
const receipt = {
  receipt: { homeUserId: '1', mode: 'full' as const, deletedAt: 5, origin: a },
  signature: 'c2ln',
  publicKey: 'a2V5',
}

type Order = { origin: string; state: string; error: string | null; attempts: number; nextAttemptAt: number | null }
type Asked = { userId: string; origins: string[]; mode: string; durable?: boolean | undefined }

/** Contract: 7, Deletion orders. */
describe('federation-identity/delete: durable deletions', () => {
  let identity: TestIdentity
  let user: Awaited<ReturnType<typeof buildUser>>
  let answering: AsyncDisposable
  let asked: Asked[]
  let answers: Record<string, FanoutResult>

  before(async () => {
    identity = await startTestIdentity()
    for (const origin of [a, b, c]) await buildPeer(identity, origin)
  })
  after(() => identity[Symbol.asyncDispose]())
  beforeEach(async () => {
    const replicatedInstances = [a, b, c].map((origin) => ({ origin, username: 'rosa' }))
    user = await buildUser(identity, { replicatedInstances })
    await identity.deps.orm.em.fork().nativeDelete(DeletionOrder, {})
    asked = []
    answers = { [a]: silent, [b]: { success: false, error: 'owns_spaces', ownedSpaces: [] }, [c]: { success: true } }
    answering = await identity.deps.bus.respond(deleteIdentitiesAtPeers, async (request) => {
      asked.push(request)
      const noPeer: FanoutResult = { success: false, error: 'no_active_peer' }
      return { results: request.origins.map((origin) => ({ origin, result: answers[origin] ?? noPeer })) }
    })
  })
  afterEach(() => answering[Symbol.asyncDispose]())

  const order = (origins: unknown, body: object = {}) =>
    identity.call('POST', `${path}/delete`, { as: user, body: { origins, mode: 'full', durable: true, ...body } })
  const list = async () =>
    (await answered(identity.call('GET', `${path}/orders`, { as: user }))).body['orders'] as Order[]
  const states = async () => Object.fromEntries((await list()).map(({ origin, state }) => [origin, state]))
  const wait = async (ms: number) => {
    identity.clock.advance(ms)
    await using task = startOrders(identity.deps)
    await task.runNow()
  }
  const readOrder = (origin: string) =>
    identity.deps.orm.em.fork().findOneOrFail(DeletionOrder, { userId: user.id, origin })

  it('keep what had no answer, tell what was decided, and keep nothing where there is no peer', async () => {
    answers[c] = { success: true, receipt: { ...receipt, receipt: { ...receipt.receipt, origin: c } } }
    const { status, body } = await order([a, b, c, 'https://stranger.example', 'no origin'])

    expect(status).to.equal(200)
    expect(asked[0]).to.include({ durable: true, mode: 'full' })
    expect((body['results'] as Record<string, object>)[a]).to.deep.equal(silent)
    expect(await states()).to.deep.equal({ [a]: 'waiting', [b]: 'refused', [c]: 'done' })
    const told = (await list()).find(({ origin }) => origin === c)
    expect(told).to.deep.include({ receipt: { ...receipt, receipt: { ...receipt.receipt, origin: c } }, error: null })
    expect((await readUser(identity, user.id)).replicatedInstances.map(({ origin }) => origin)).to.deep.equal([a, b])
  })

  it('are not kept unless that was asked for', async () => {
    await order([a], { durable: undefined })
    await order([a], { mode: 'leave' })

    expect(asked.map(({ durable }) => durable)).to.deep.equal([undefined])
    expect(await list()).to.deep.equal([])
  })

  it('are tried again after 1 min, then twice as late, at most after 6 h, until there is an answer', async () => {
    await order([a])
    const waits: number[] = []
    for (let attempt = 1; attempt < 12; attempt += 1) {
      const { nextAttemptAt, attempts } = await readOrder(a)
      expect(attempts).to.equal(attempt)
      waits.push((nextAttemptAt!.getTime() - identity.clock.now()) / minute)
      await wait(nextAttemptAt!.getTime() - identity.clock.now() - 1)
      expect(asked).to.have.length(attempt)
      await wait(1)
    }
    answers[a] = { success: true }
    await wait(6 * 60 * minute)
    const ended = asked.length
    await wait(day)

    expect(waits).to.deep.equal([1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360])
    expect(await states()).to.deep.equal({ [a]: 'done' })
    expect(asked).to.have.length(ended)
    expect((await readUser(identity, user.id)).replicatedInstances.map(({ origin }) => origin)).to.deep.equal([b, c])
  })

  it('go on when the account is gone, and are overdue by name after 30 days', async () => {
    const admin = await buildUser(identity, { isAdmin: true })
    // The admin's deletion orders nothing.
    user = await buildUser(identity)
    await order([a])
    await answered(identity.call('DELETE', `/api/admin/users/${user.id}`, { as: admin }))
    await wait(minute)
    const { body } = await answered(identity.call('GET', '/api/admin/deletion-orders', { as: admin }))
    await wait(30 * day)
    const { state, error } = await readOrder(a)
    await wait(day)

    expect(asked).to.have.length(3)
    expect(new Set(asked.map(({ userId }) => userId))).to.deep.equal(new Set([user.id]))
    expect((body['orders'] as object[])[0]).to.include({ userId: user.id, origin: a, state: 'waiting', attempts: 2 })
    expect([state, error]).to.deep.equal(['overdue', 'timeout'])
    expect((await identity.deps.metrics.render()).text).to.match(/gatehouse_deletion_orders_overdue [1-9]/)
  })

  it('wait while an admin peers anew with the instance', async () => {
    await order([a])
    answers[a] = { success: false, error: 'no_active_peer' }
    await wait(minute)
    const meanwhile = await readOrder(a)
    answers[a] = { success: true }
    await wait(2 * minute)

    expect(meanwhile).to.deep.include({ state: 'waiting', error: 'no_active_peer', attempts: 2 })
    expect(await states()).to.deep.equal({ [a]: 'done' })
  })

  it('are kept although nobody can be asked, and although the process dies while it asks', async () => {
    await answering[Symbol.asyncDispose]()
    const strangers = ['https://stranger.example', 'no origin']
    const { status, body } = await order([a, `${a}/`, ...strangers])
    const [asking, died] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    answering = await identity.deps.bus.respond(deleteIdentitiesAtPeers, async ({ origins }) => {
      asked.push({ userId: user.id, origins, mode: 'full' })
      if (asked.length === 1) {
        asking.resolve()
        await died.promise
      }
      return { results: origins.map((origin) => ({ origin, result: { success: true as const } })) }
    })
    identity.clock.advance(minute)
    await using dying = startOrders(identity.deps)
    const isDying = dying.runNow()
    await asking.promise
    await wait(minute)
    const { endedAt } = await readOrder(a)
    identity.clock.advance(minute)
    died.resolve()
    await isDying

    expect(status).to.equal(200)
    const waiting = { success: false, error: 'unreachable', order: 'waiting' }
    const noPeer = { success: false, error: 'no_active_peer' }
    const told = { [a]: waiting, [`${a}/`]: waiting, [strangers[0]!]: noPeer, [strangers[1]!]: noPeer }
    expect(body['results']).to.deep.equal(told)
    expect(asked).to.have.length(2)
    expect(await readOrder(a)).to.deep.include({ state: 'done', endedAt })
  })

  it('are each carried out by one of many replicas', async () => {
    await order([a])
    identity.clock.advance(minute)
    const before = asked.length
    const tasks = Array.from({ length: 16 }, () => startOrders(identity.deps))
    await Promise.all(tasks.map((task) => task.runNow()))
    await Promise.all(tasks.map((task) => task[Symbol.asyncDispose]()))

    expect(asked.length - before).to.equal(1)
  })

  it('of others do not wait behind an instance that is silent', async () => {
    const others = await Promise.all(Array.from({ length: 5 }, () => buildUser(identity)))
    for (const other of [...others, user]) {
      const body = { origins: [a, b], mode: 'soft', durable: true }
      answers[b] = silent
      await answered(identity.call('POST', `${path}/delete`, { as: other, body }))
    }
    answers[b] = { success: true }
    const before = asked.length
    await wait(minute)

    const open = await identity.deps.orm.em.fork().count(DeletionOrder, { origin: b, state: 'waiting' })
    expect(open).to.equal(0)
    expect(asked.length - before).to.equal(6)
  })

  it('begin anew when they are given again', async () => {
    await order([a])
    answers[a] = { success: false, error: 'owns_spaces', ownedSpaces: [] }
    await wait(minute)
    const refused = await states()
    answers[a] = { success: true }
    await order([a], { mode: 'soft' })

    expect([refused[a], (await states())[a]]).to.deep.equal(['refused', 'done'])
    expect(await list()).to.have.length(1)
  })

  describe('by an admin', () => {
    let admin: User
    before(async () => void (admin = await buildUser(identity, { isAdmin: true })))
    afterEach(async () => {
      for (const origin of [a, b, c]) await buildPeer(identity, origin)
    })

    const remove = (id: string, body?: object) =>
      identity.call('DELETE', `/api/admin/users/${id}`, { as: admin, ...(body && { body }) })
    const describeUser = async (id: string) =>
      (await answered(identity.call('GET', `/api/admin/users/${id}`, { as: admin }))).body as unknown as {
        instances: string[]
        orders: (Order & { mode: string })[]
      }
    const registered = async (origin: string, id = user.id) => {
      const entries = JSON.stringify([{ origin, status: 'disconnected', addedAt: 1 }])
      const sql = 'insert into federation_registries (user_id, entries, updated_at) values (?, ?, 1)'
      await identity.deps.orm.em.fork().execute(sql, [id, entries])
    }

    /** Contract: 5, DELETE users, A user. */
    it('are given to the peers that the list of instances or the registry names, are told before and after, and reach them when the account is gone', async () => {
      const registeredAt = 'https://d.example'
      await buildPeer(identity, registeredAt)
      await buildPeer(identity, 'https://other.example')
      await registered('https://D.example:443/')
      await buildPeer(identity, b, 'unreachable')
      await buildPeer(identity, c, 'revoked')
      answers = { [a]: { success: true }, [b]: silent, [registeredAt]: { success: false, error: 'No' } }

      const before = await describeUser(user.id)
      const { body } = await answered(remove(user.id))
      const given = await describeUser(user.id)
      await wait(0)
      const after = await describeUser(user.id)

      expect([before.instances, before.orders]).to.deep.equal([[a, b, registeredAt], []])
      expect(body).to.deep.equal({ success: true, instances: 3 })
      expect(given.orders.map(({ state, attempts, mode }) => ({ state, attempts, mode }))).to.deep.equal(
        Array.from({ length: 3 }, () => ({ state: 'waiting', attempts: 0, mode: 'soft' })),
      )
      expect(asked).to.have.length(1)
      expect(asked[0]).to.include({ userId: user.id, mode: 'soft', durable: true })
      expect(asked[0]?.origins.toSorted()).to.deep.equal([a, b, registeredAt])
      const states = after.orders.map(({ origin, state, error }) => [origin, state, error]).toSorted()
      expect(states).to.deep.equal([
        [a, 'done', null],
        [b, 'waiting', 'timeout'],
        [registeredAt, 'refused', 'No'],
      ])
      expect(after.instances).to.deep.equal([])
    })

    it('are given to a peer that only looked the account up, too', async () => {
      const asker = 'https://asker.example'
      await buildPeer(identity, asker)
      const { id } = await buildUser(identity)
      await rememberAsker(identity, asker, id)
      answers = { [asker]: { success: true } }

      const before = await describeUser(id)
      await answered(remove(id))
      await wait(0)

      expect(before.instances).to.deep.equal([asker])
      const after = await describeUser(id)
      expect(after.orders.map(({ origin, state }) => [origin, state])).to.deep.equal([[asker, 'done']])
    })

    it('have the mode that was chosen; any other is 400 and deletes nothing', async () => {
      const refused = [await remove(user.id, { mode: 'leave' }), await remove(user.id, { mode: null })]
      const isThere = !(await readUser(identity, user.id)).isDeleted
      await answered(remove(user.id, { mode: 'full' }))

      expect(refused.map(({ status }) => status)).to.deep.equal([400, 400])
      expect(isThere).to.equal(true)
      expect((await describeUser(user.id)).orders.map(({ mode }) => mode)).to.deep.equal(['full', 'full', 'full'])
    })

    it('leave in full mode what its person ordered so, and begin anew', async () => {
      await order([a])
      await answered(remove(user.id))
      const modes = (await describeUser(user.id)).orders.map(({ origin, mode, attempts }) => [origin, mode, attempts])

      expect(modes.toSorted()).to.deep.equal([
        [a, 'full', 0],
        [b, 'soft', 0],
        [c, 'soft', 0],
      ])
    })

    it('are given for accounts of this instance alone', async () => {
      const replicatedInstances = [{ origin: a, username: 'rosa' }]
      const replica = { username: 'rosa@a.example', homeInstance: 'a.example', homeUserId: '7', replicatedInstances }
      const former = { detachedHomeInstance: 'a.example', formerHomeUserId: '7' }
      const detached = { federationHomeOrphaned: true, ...former, replicatedInstances }
      for (const overrides of [replica, detached]) {
        const { id } = await buildUser(identity, overrides)
        expect((await describeUser(id)).instances).to.deep.equal([])
        expect((await answered(remove(id))).body).to.deep.equal({ success: true, instances: 0 })
      }

      expect(await identity.deps.orm.em.fork().count(DeletionOrder, {})).to.equal(0)
    })

    it('are not kept where the deletion is refused', async () => {
      const sql = "insert into spaces (id, name, owner_id) values (next_snowflake(), 'Garden', ?)"
      await identity.deps.orm.em.fork().execute(sql, [user.id])

      expect((await remove(user.id)).status).to.equal(400)
      expect(await identity.deps.orm.em.fork().count(DeletionOrder, {})).to.equal(0)
    })

    it('wait while an admin peers anew, also before the first attempt', async () => {
      await answered(remove(user.id))
      answers = { [b]: { success: true }, [c]: { success: true } }
      await wait(0)
      const meanwhile = await readOrder(a)
      answers[a] = { success: true }
      await wait(minute)

      expect(meanwhile).to.include({ state: 'waiting', error: 'no_active_peer' })
      expect((await readOrder(a)).state).to.equal('done')
    })
  })
})
