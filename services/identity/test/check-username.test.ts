import { expect } from 'chai'
import { instanceProfileNames } from '@gatehouse/contracts'
import { version } from '@gatehouse/service-kit'
import { createUser } from '../src/operations/administration/create-user.ts'
import { buildUser, setGates } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'

describe('The checks of the register page', () => {
  let identity: TestIdentity

  before(async () => void (identity = await startTestIdentity()))
  after(async () => await identity[Symbol.asyncDispose]())
  beforeEach(async () => await setGates(identity, { registrationOpen: null }))

  const check = async (query: string) => {
    const { status, body } = await identity.call('GET', `/api/auth/check-username${query}`)
    return [status, body]
  }

  it('check-username: a free name is available, one in use is not, however it is spelled', async () => {
    const { username } = await buildUser(identity)
    const taken = [200, { available: false, reason: 'Username already taken', code: 'username_taken' }]

    expect(await check('?username=free_name')).to.deep.equal([200, { available: true }])
    expect(await check(`?username=${username}`)).to.deep.equal(taken)
    const { domain } = identity.config.publicAddress
    for (const typed of [` ${username.toUpperCase()}`, `@${username}`, `${username}@${domain}`])
      expect(await check(`?username=${encodeURIComponent(typed)}`), typed).to.deep.equal(taken)
    expect(await check('?username=@free_name')).to.deep.equal([200, { available: true }])
  })

  it('check-username: a reserved name is taken, for a registration too, and not for whom it exists, nor for the operator', async () => {
    const reserve = (names: string[]) =>
      identity.deps.orm.em
        .fork()
        .execute('update instance_settings set reserved_usernames = ?', [JSON.stringify(names)])
    const register = async (username: string) => {
      const body = { username, password: 'a long password' }
      const { status, body: answer } = await identity.call('POST', '/api/auth/register', { body })
      return [status, answer['code']]
    }
    expect(await register('help_one')).to.deep.equal([201, undefined])

    await reserve(['root', 'help*'])
    try {
      for (const name of ['root', 'ROOT', '@root', 'help', 'help_two'])
        expect(await check(`?username=${name}`), name).to.deep.equal([
          200,
          { available: false, reason: 'Username already taken', code: 'username_taken' },
        ])
      for (const name of ['rooted', 'my_help'])
        expect(await check(`?username=${name}`)).to.deep.equal([200, { available: true }])
      expect(await register('help_two')).to.deep.equal([409, 'username_taken'])
      expect(await register('Root')).to.deep.equal([409, 'username_taken'])
      expect(await register('rooted')).to.deep.equal([201, undefined])
      const body = { username: 'help_one', password: 'a long password' }
      expect((await identity.call('POST', '/api/auth/login', { body })).status).to.equal(200)
      await createUser(identity.deps, { username: 'help_desk', address: '', requestId: undefined })
    } finally {
      await reserve([])
    }
  })

  it('check-username: a missing name is 400 and carries both shapes', async () => {
    const missing = [
      400,
      {
        available: false,
        reason: 'username is required',
        error: 'username is required',
        statusCode: 400,
        code: 'username_required',
      },
    ]

    for (const query of ['', '?username=', '?username=%20', '?username', '?username=one&username=two']) {
      expect(await check(query)).to.deep.equal(missing)
    }
  })

  it('check-username: an invalid name is 200 with a reason, also when the gate is closed', async () => {
    for (const registrationOpen of [true, false]) {
      await setGates(identity, { registrationOpen })
      for (const name of ['ab', 'a'.repeat(33), 'a-b', 'ada@home', '%00%00%00', '%ED%A0%80abc']) {
        const [status, body] = (await check(`?username=${name}`)) as [number, Record<string, unknown>]
        expect([name, status, body['available'], typeof body['reason']]).to.deep.equal([name, 200, false, 'string'])
      }
    }
  })

  /** Contract: 3, check-username. */
  it('check-username: a closed gate is 403 and reveals no names', async () => {
    const { username } = await buildUser(identity)
    await setGates(identity, { registrationOpen: false })
    const reason = 'Registration is currently closed'
    const closed = [403, { available: false, reason, error: reason, statusCode: 403, code: 'registration_closed' }]

    expect(await check('?username=free_name')).to.deep.equal(closed)
    expect(await check(`?username=${username}`)).to.deep.equal(closed)
  })

  /** Contract: 3, instance/info. */
  it('instance/info: has the name, the version, the id and the gates as they apply', async () => {
    await using shut = await startTestIdentity({
      databaseUrl: identity.databaseUrl,
      config: { registrationOpen: false },
    })
    const info = async (of: TestIdentity) => (await of.call('GET', '/api/instance/info')).body

    const known = await info(identity)

    const gates = ['registrationOpen', 'federatedRegistrationOpen']
    const features = ['directoryConfigured', 'directoryAvailable', 'directoryEnabled', 'supportCardEnabled']
    expect(known).to.have.all.keys('name', 'version', 'instanceId', ...instanceProfileNames, ...gates, ...features)
    expect(features.map((feature) => known[feature])).to.deep.equal([false, false, false, false])
    expect(known).to.include({ name: 'Gatehouse', version, registrationOpen: true, federatedRegistrationOpen: true })
    expect(known['instanceId']).to.match(/^[0-9a-f-]{36}$/)
    expect(await info(shut)).to.include({ registrationOpen: false, instanceId: known['instanceId'] })
    await setGates(identity, { registrationOpen: true, federatedRegistrationOpen: false })
    expect(await info(shut)).to.include({ registrationOpen: true, federatedRegistrationOpen: false })
  })
})
