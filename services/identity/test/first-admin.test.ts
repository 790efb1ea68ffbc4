import { expect } from 'chai'
import { User } from '@gatehouse/domain'
import { countLockWaits, eventually, untilAvailable } from '@gatehouse/test-kit'
import { buildStub, readUser } from './builders.ts'
import { startTestIdentity } from './harness.ts'
import { testPassword } from './quick-hasher.ts'

describe('The first admin', () => {
  /** Contract: 3, First admin. */
  it('Registration 9: is exactly one, the first local account, of sixteen racers at two replicas', async () => {
    await using one = await startTestIdentity()
    await using other = await startTestIdentity({ databaseUrl: one.databaseUrl })
    await buildStub(one)
    const federated = { username: 'early@home.example', password: testPassword, homeInstance: 'home.example' }
    const early = await one.call('POST', '/api/auth/register', { body: federated })

    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) => {
        const replica = index % 2 === 0 ? one : other
        const body = { username: `racer_${index}`, password: testPassword }
        return untilAvailable(() => replica.call('POST', '/api/auth/register', { body }))
      }),
    )

    const users = answers.map(({ body }) => body['user'] as { id: string; isAdmin: boolean })
    const admins = await one.deps.orm.em.fork().find(User, { isAdmin: true })
    expect(early.body['user']).to.include({ isAdmin: false })
    expect(answers.every(({ status }) => status === 201)).to.equal(true)
    expect(admins.map(({ id }) => id)).to.deep.equal(users.filter(({ isAdmin }) => isAdmin).map(({ id }) => id))
    expect(admins).to.have.length(1)
  })

  /** Contract: 5, Second factors of others. */
  it('has to set up a second factor where admins need one', async () => {
    await using identity = await startTestIdentity()
    await identity.deps.orm.em.fork().execute('update instance_settings set require_second_factor_for_admins = true')
    const register = async (username: string) => {
      const { body } = await identity.call('POST', '/api/auth/register', { body: { username, password: testPassword } })
      return await readUser(identity, (body['user'] as { id: string }).id)
    }

    expect(await register('first')).to.include({ isAdmin: true, secondFactorDue: true })
    expect(await register('second')).to.include({ isAdmin: false, secondFactorDue: false })
  })

  it('is not the account whose registration fails: the next one becomes it', async () => {
    await using identity = await startTestIdentity()
    const register = async (username: string) =>
      (await identity.call('POST', '/api/auth/register', { body: { username, password: testPassword } })).body['user']
    const rival = identity.deps.orm.em.fork()
    await rival.begin()
    await rival.execute(`insert into users (id, username, password_hash) values (1, 'taken', '!')`)

    const failing = register('taken')
    await eventually('the failing registration waits for the name', () => countLockWaits(identity.deps))
    const second = register('second')
    await rival.commit()

    expect(await failing).to.equal(undefined)
    expect(await second).to.include({ username: 'second', isAdmin: true })
  })
})
