import { read } from '@gatehouse/database'
import { AuditEntry, type User } from '@gatehouse/domain'
import { answered } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { startRetention } from '../src/operations/retention.ts'
import { buildUser } from './builders.ts'
import { insertMany } from './chat.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'

type Entry = Record<string, unknown>

/** Contract: 5, Audit. */
describe('The audit log', () => {
  let identity: TestIdentity
  let admin: User
  let other: User
  let user: User
  before(async () => {
    identity = await startTestIdentity()
    admin = await buildUser(identity, { username: 'first_admin', isAdmin: true })
    other = await buildUser(identity, { username: 'other_admin', isAdmin: true })
    user = await buildUser(identity, { username: 'named_then' })
    await act(admin, user, 'suspend')
    await act(other, user, 'unsuspend')
    await act(other, user, 'recovery-link')
  })
  after(async () => await identity[Symbol.asyncDispose]())

  const act = (as: User, target: User, path: string) =>
    answered(identity.call('POST', `/api/admin/users/${target.id}/${path}`, { as, body: {} }))
  const list = async (query = '') => {
    const { status, body } = await identity.call('GET', `/api/admin/audit?${query}`, { as: admin })
    return { status, entries: (body['entries'] ?? []) as Entry[] }
  }
  const actions = async (query: string) => (await list(query)).entries.map(({ action }) => action)

  it('keeps the names of actor and subject', async () => {
    const [newest] = (await list()).entries

    expect(newest).to.include({ actorUsername: 'other_admin', targetName: 'named_then', targetId: user.id })
  })

  it('is filtered by actor, subject and action, alone and together', async () => {
    const all = ['user.recovery-link-created', 'user.unsuspended', 'user.suspended']

    expect(await actions('')).to.deep.equal(all)
    expect(await actions(`actor=${other.id}`)).to.deep.equal(all.slice(0, 2))
    expect(await actions(`actor=${admin.id}`)).to.deep.equal(['user.suspended'])
    expect(await actions('actor=operator')).to.deep.equal([])
    expect(await actions(`subject=${user.id}`)).to.deep.equal(all)
    expect(await actions(`subject=${admin.id}`)).to.deep.equal([])
    expect(await actions('action=user.unsuspended')).to.deep.equal(['user.unsuspended'])
    expect(await actions(`action=user.unsuspended&actor=${admin.id}`)).to.deep.equal([])
    for (const query of ['actor=ada', 'subject=x', 'action=unknown', 'actor=99999999999999999999']) {
      expect((await list(query)).status, query).to.equal(400)
    }
  })

  it('is filtered by days, both included, by the time that the ids tell', async () => {
    const [row] = await read<{ today: string; yesterday: string }>(
      identity.deps.orm.em.fork(),
      `select to_char(now() at time zone 'UTC', 'YYYY-MM-DD') as today,
         to_char((now() - interval '1 day') at time zone 'UTC', 'YYYY-MM-DD') as yesterday`,
    )
    const { today, yesterday } = row!

    expect(await actions(`after=${today}&before=${today}`)).to.have.length(3)
    expect(await actions(`after=${yesterday}`)).to.have.length(3)
    expect(await actions(`before=${yesterday}`)).to.deep.equal([])
    expect(await actions('after=2999-01-01')).to.deep.equal([])
    expect(await actions('before=1990-01-01')).to.deep.equal([])
    expect(await actions('after=never')).to.have.length(3)
    expect(await actions('after=2999-01-01&tz=Pacific/Kiritimati')).to.deep.equal([])
    expect(await actions(`after=${yesterday}&tz=Europe/Berlin`)).to.have.length(3)
    expect((await list('tz=Mars')).status).to.equal(400)
  })

  it('loses the name of a deleted account, as actor and as subject, in the entry of its deletion too', async () => {
    const [gone, helper] = [await buildUser(identity), await buildUser(identity)]
    const leaving = await buildUser(identity, { username: 'leaving_admin', isAdmin: true })
    await act(leaving, gone, 'suspend')
    await act(leaving, helper, 'suspend')
    for (const { id } of [gone, leaving]) {
      await answered(identity.call('DELETE', `/api/admin/users/${id}`, { as: admin }))
    }

    const about = (await list(`subject=${gone.id}`)).entries
    const by = (await list(`actor=${leaving.id}`)).entries
    expect(about.map(({ targetName, actorUsername }) => [targetName, actorUsername])).to.deep.equal([
      ['Deleted User', 'first_admin'],
      ['Deleted User', 'Deleted User'],
    ])
    expect(by.map(({ targetName }) => targetName)).to.deep.equal([helper.username, 'Deleted User'])
    const stored = await identity.deps.orm.em.fork().findAll(AuditEntry)
    expect(JSON.stringify(stored)).to.not.include(gone.username).and.not.include('leaving_admin')
  })

  it('is read by an index, whatever the filter', async () => {
    const em = identity.deps.orm.em.fork()
    await insertMany(
      identity,
      `insert into audit_log (id, action, actor_id, actor_username, target_type, target_id, detail, created_at)
       select n, 'user.deleted', case when n % 50 = 7 then ?::bigint end, 'a', 'user', (n % 5000)::text, '{}', now() from generate_series(1, 50000) n`,
      [admin.id],
    )
    await em.execute('analyze audit_log')
    for (const filter of [`actor_id = ${admin.id}`, "target_id = '7'", "action = 'user.suspended'", 'id < 300']) {
      const plan = JSON.stringify(
        await em.execute(`explain select * from audit_log where ${filter} order by id desc limit 101`),
      )
      expect(plan, filter)
        .to.match(/Index Scan|Bitmap Index Scan/)
        .and.not.include('Seq Scan')
    }
  })

  /** Contract: 5, Retention. */
  it('loses its entries after the days that the operator chose, and none where he chose none', async () => {
    const newer = (await list()).entries
    const retain = async (auditRetentionDays: number) => {
      await using task = startRetention({ ...identity.deps, config: { auditRetentionDays } })
      await task.runNow()
      return await identity.deps.orm.em.fork().count(AuditEntry)
    }
    const kept = await retain(0)
    const left = await retain(30)

    expect(kept - left).to.equal(50_000)
    expect((await list()).entries.slice(0, left)).to.deep.equal(newer.slice(0, left))
  })
})
