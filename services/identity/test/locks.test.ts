import { expect } from 'chai'
import { toErrorResponse } from '@gatehouse/runtime'
import { countLockWaits, eventually } from '@gatehouse/test-kit'
import { deleteFederatedIdentity } from '../src/operations/federation/delete-federated-identity.ts'
import { buildUser, readUser } from './builders.ts'
import { buildChannel, buildSpace, insertMany } from './chat.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { testPassword } from './quick-hasher.ts'

/** Over a pool of ten connections, as a process has them. */
describe('while a transaction keeps the row of an account', () => {
  let identity: TestIdentity
  before(async () => void (identity = await startTestIdentity({ connections: 10 })))
  after(async () => await identity[Symbol.asyncDispose]())

  /** Holds the row's lock, as a deletion of many messages does, while `work` runs. */
  const whileLocked = async <T>(userId: string, work: () => Promise<T>): Promise<T> =>
    await identity.deps.orm.em.fork().transactional(async (em) => {
      await em.execute('select id from users where id = ? for no key update', [userId])
      return await work()
    })
  const waits = () => eventually('a change waits', async () => (await countLockWaits(identity.deps)) > 0)
  const bodyOf = { username: '', password: testPassword }

  it('25 changes of its user are refused with 503 in time, and everybody else is served', async () => {
    const [busy, other] = [await buildUser(identity), await buildUser(identity)]
    const patch = (as: typeof busy) => identity.call('PATCH', '/api/users/@me', { as, body: { bio: 'changed' } })

    const [refused, served] = await whileLocked(busy.id, async () => {
      const changes = Promise.all(Array.from({ length: 25 }, () => patch(busy)))
      await waits()
      const others = await Promise.all([
        identity.call('GET', '/api/users/@me', { as: other }),
        identity.call('GET', '/api/users/@me', { as: busy }),
        identity.call('GET', '/api/instance/info'),
        identity.call('POST', '/api/auth/login', { body: { ...bodyOf, username: other.username } }),
        patch(other),
      ])
      expect(await countLockWaits(identity.deps), 'the changes still wait').to.be.greaterThan(0)
      return [await changes, others] as const
    })

    expect(served.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200, 200])
    expect(new Set(refused.map(({ status }) => status))).to.deep.equal(new Set([503]))
    expect(refused.every(({ headers }) => headers.get('retry-after') === '1')).to.equal(true)
    expect((await patch(busy)).status).to.equal(200)
  })

  it("repeated deletions by the account's home are refused in time, and everybody else is served", async () => {
    const identityAtHome = { homeInstance: 'home.example', homeUserId: '77' }
    const busy = await buildUser(identity, { username: 'busy@home.example', ...identityAtHome })
    const other = await buildUser(identity)

    const outcomes = await whileLocked(busy.id, async () => {
      const deletion = () => deleteFederatedIdentity(identity.deps, { ...identityAtHome, mode: 'full' })
      const deletions = Promise.allSettled(Array.from({ length: 25 }, deletion))
      await waits()
      const login = { body: { ...bodyOf, username: other.username } }
      expect((await identity.call('POST', '/api/auth/login', login)).status).to.equal(200)
      return await deletions
    })

    const statuses = outcomes.map((outcome) =>
      outcome.status === 'rejected' ? toErrorResponse(outcome.reason).refusal.status : outcome.value,
    )
    expect(new Set(statuses)).to.deep.equal(new Set([503]))
    expect((await readUser(identity, busy.id)).isDeleted).to.equal(false)
  })

  it('a deletion with 100,000 messages: 25 changes of its user are refused, and everybody else is served all the time', async () => {
    const [busy, other] = [await buildUser(identity), await buildUser(identity)]
    const channelId = await buildChannel(identity, await buildSpace(identity, other))
    await insertMany(
      identity,
      `insert into messages (id, channel_id, author_id, content)
       select next_snowflake(), ?, ?, 'one of many' from generate_series(1, 100000)`,
      [channelId, busy.id],
    )
    const ask = (as: typeof busy) => identity.call('GET', '/api/users/@me', { as })
    const patch = (as: typeof busy) => identity.call('PATCH', '/api/users/@me', { as, body: { bio: 'changed' } })
    const progress = { isDeleted: false }

    const body = { username: busy.username, password: testPassword }
    const deletion = identity
      .call('DELETE', '/api/users/@me', { as: busy, body })
      .finally(() => (progress.isDeleted = true))
    await eventually('the deletion works', async () => (await countWorking('delete from messages')) > 0)
    const changes = Promise.all(Array.from({ length: 25 }, () => patch(busy)))
    const served: number[] = []
    while (!progress.isDeleted) {
      const answers = [ask(other), patch(other), identity.call('GET', '/api/instance/info')]
      served.push(...(await Promise.all(answers)).map(({ status }) => status))
    }

    expect((await deletion).status).to.equal(200)
    expect([...new Set(served)]).to.deep.equal([200])
    // Those that came to their turn after the deletion are told that the account is gone.
    const refused = new Set((await changes).map(({ status }) => status))
    expect([...refused].filter((status) => status !== 503 && status !== 401)).to.deep.equal([])
  })

  async function countWorking(statement: string): Promise<number> {
    const sql = `select 1 from pg_stat_activity where datname = current_database() and state = 'active'
      and pid <> pg_backend_pid() and query ilike ?`
    return (await identity.deps.orm.em.fork().execute<unknown[]>(sql, [`%${statement}%`])).length
  }
})
