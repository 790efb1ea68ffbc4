import { expect } from 'chai'
import { userCreated } from '@gatehouse/contracts'
import type { User } from '@gatehouse/domain'
import { OutboundFailure } from '@gatehouse/outbound'
import { untilAvailable } from '@gatehouse/test-kit'
import { buildStub, buildUser, collectEvents, readUser } from './builders.ts'
import { fakeHome } from './fake-home.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'

const homePassword = 'the password at home'

/** Contract: 7, Registration over a stub. */
describe('A stub', () => {
  let home: ReturnType<typeof fakeHome>
  let identity: TestIdentity
  let stub: User

  beforeEach(async () => {
    home = fakeHome({
      erin: { id: '42', password: homePassword },
      mallory: { id: '66', password: 'the password of mallory' },
    })
    identity = await startTestIdentity({ overrides: { outbound: home.outbound } })
    stub = await buildStub(identity, { username: 'erin@home.example', homeUserId: '42' })
  })
  afterEach(() => identity[Symbol.asyncDispose]())

  const register = async (password: string, username = 'erin@home.example') => {
    const body = { username, password, homeInstance: 'home.example', homeUserId: '42' }
    const { status, body: answer } = await identity.call('POST', '/api/auth/register', { body })
    return [status, answer['code'] ?? (answer['user'] as { id: string }).id]
  }
  const logIn = async (password: string, username = stub.username) => {
    const given = { body: { username, password } }
    const { status, body } = await untilAvailable(() => identity.call('POST', '/api/auth/login', given))
    return [status, body['code'] ?? (body['user'] as { id: string }).id]
  }
  const askedNames = () => home.logins().map(({ username }) => username)
  const isStub = async () => (await readUser(identity, stub.id)).isStub()
  const taken = [409, 'username_taken']

  it('is upgraded by the password of its home', async () => {
    expect(await register(homePassword)).to.deep.equal([200, stub.id])
    expect(askedNames()).to.deep.equal(['erin'])
  })

  it('is not taken by who knows its homeUserId, and is where its home does not answer', async () => {
    const claims = [await register('a password of a stranger')]
    const wasStub = await isStub()
    home.answer = () => {
      throw new OutboundFailure('unreachable', 'nobody answers')
    }
    claims.push(await register('a password of a stranger'))

    expect(claims).to.deep.equal([taken, [200, stub.id]])
    expect(wasStub).to.equal(true)
  })

  it('is not taken by another account of its home', async () => {
    expect(await register('the password of mallory', 'mallory@home.example')).to.deep.equal(taken)
    expect(askedNames()).to.deep.equal(['erin'])
    expect(await isStub()).to.equal(true)
  })

  it('is not taken under a name of another domain, and nothing is sent to its home', async () => {
    const names = ['erin@good.example', 'erin@sub.home.example', 'erin@home.example.evil.test', 'erin@home.example.']
    const claims = await Promise.all(names.map((name) => register(homePassword, name)))
    home.answer = () => {
      throw new OutboundFailure('unreachable', 'nobody answers')
    }
    claims.push(await register(homePassword, 'erin@good.example'))

    expect(claims).to.deep.equal(Array(5).fill(taken))
    expect([home.asked, identity.federation.asked]).to.deep.equal([[], []])
    expect(await register(homePassword, ' ERIN@Home.Example ')).to.deep.equal([200, stub.id])
  })

  it('is not taken by who has its name at its home now', async () => {
    home.users['erin'] = { id: '43', password: homePassword }

    expect([await register(homePassword), await logIn(homePassword)]).to.deep.equal([
      taken,
      [401, 'invalid_credentials'],
    ])
    expect(await isStub()).to.equal(true)
    home.users['erin'] = { id: '42', password: homePassword }
    expect(await register(homePassword)).to.deep.equal([200, stub.id])
  })

  it('without a homeUserId gets the one that its home answers, whatever the claim says', async () => {
    const idOf = async (id: string) => (await readUser(identity, id)).homeUserId
    const [first, second] = [
      await buildStub(identity, { username: 'mallory@home.example' }),
      await buildStub(identity, { username: 'zoe@home.example' }),
    ]
    home.users['zoe'] = { id: '68', password: homePassword }
    const claim = { username: second.username, password: homePassword, homeInstance: 'home.example', homeUserId: '99' }

    const login = await logIn('the password of mallory', first.username)
    const { status } = await identity.call('POST', '/api/auth/register', { body: claim })

    expect([login, await idOf(first.id)]).to.deep.equal([[200, first.id], '66'])
    expect([status, await idOf(second.id)]).to.deep.equal([200, '68'])
  })

  it('is upgraded under the name that its home has for it', async () => {
    home.users['erika'] = { id: '42', password: homePassword }
    identity.federation.user = { outcome: 'found', username: 'erika' }

    expect(await register(homePassword, 'erika@home.example')).to.deep.equal([200, stub.id])
    expect(askedNames()).to.deep.equal(['erika'])
  })

  it('keeps nobody waiting for its home longer than ten seconds in all', async () => {
    const tellNameAfter = (ms: number) => {
      const get = () => (identity.clock.advance(ms), { outcome: 'found' as const, username: 'erin' })
      Object.defineProperty(identity.federation, 'user', { get, configurable: true })
    }
    tellNameAfter(7_000)
    expect(await logIn('a wrong password')).to.deep.equal([401, 'invalid_credentials'])
    expect(await register('a wrong password')).to.deep.equal(taken)
    tellNameAfter(10_000)
    expect(await logIn(homePassword)).to.deep.equal([401, 'invalid_credentials'])

    expect(home.asked.map(({ timeoutMs }) => timeoutMs)).to.deep.equal([3_000, 3_000])
  })

  it('is not taken by who has its made-up name at its home', async () => {
    const unnamed = await buildStub(identity, { username: 'user_43@home.example', homeUserId: '43' })
    home.users['user_43'] = { id: '67', password: 'the password of a stranger' }
    home.users['erin'] = { id: '43', password: homePassword }
    identity.federation.user = { outcome: 'found', username: 'erin' }
    const claim = { username: unnamed.username, password: 'the password of a stranger', homeInstance: 'home.example' }

    const login = await logIn(claim.password, unnamed.username)
    const { body } = await identity.call('POST', '/api/auth/register', { body: { ...claim, homeUserId: '43' } })

    const outcomes: [string, unknown, unknown][] = []
    for (const outcome of ['not_found', 'unreachable'] as const) {
      identity.federation.user = { outcome }
      const [status] = await logIn(claim.password, unnamed.username)
      const registration = {
        ...claim,
        homeUserId: '43',
        password: outcome === 'not_found' ? claim.password : 'a wrong password',
      }
      outcomes.push([
        outcome,
        status,
        (await identity.call('POST', '/api/auth/register', { body: registration })).status,
      ])
    }
    identity.federation.user = { outcome: 'found', username: 'erin' }

    expect([login, body['code']]).to.deep.equal([[401, 'invalid_credentials'], 'username_taken'])
    expect(outcomes).to.deep.equal([
      ['not_found', 401, 409],
      ['unreachable', 401, 409],
    ])
    expect(await logIn(homePassword, unnamed.username)).to.deep.equal([200, unnamed.id])
    expect(askedNames()).to.deep.equal(['erin', 'erin', 'user_43', 'erin'])
  })

  const noAnswers: [string, () => { status: number; body: string }][] = [
    ['404', () => ({ status: 404, body: '{}' })],
    ['500', () => ({ status: 500, body: '{}' })],
    ['429', () => ({ status: 429, body: '{}' })],
    ['a page', () => ({ status: 200, body: '<html>Welcome</html>' })],
  ]
  for (const [name, answer] of noAnswers) {
    it(`is upgraded by the letter at ${name}, unless stubUpgradesNeedProof is on`, async () => {
      home.answer = answer
      const admin = await buildUser(identity, { isAdmin: true })
      const set = async (stubUpgradesNeedProof: boolean) => {
        const body = { stubUpgradesNeedProof }
        return (await identity.call('PATCH', '/api/settings/instance', { as: admin, body })).body
      }

      const settings = [await set(true)]
      const refused = await register(homePassword)
      settings.push(await set(false))
      const upgraded = await register(homePassword)

      expect(settings.map(({ stubUpgradesNeedProof }) => stubUpgradesNeedProof)).to.deep.equal([true, false])
      expect([refused, upgraded]).to.deep.equal([taken, [200, stub.id]])
    })
  }

  it('is not upgraded where another instance answers for its home, or a second factor is asked for', async () => {
    identity.federation.epoch = { outcome: 'changed' }
    const changed = await register(homePassword)
    identity.federation.epoch = { outcome: 'unknown' }
    home.answer = () => ({ status: 401, body: '{"code":"second_factor_required"}' })

    expect([changed, await register(homePassword)]).to.deep.equal([taken, taken])
    expect(await isStub()).to.equal(true)
  })

  it('is upgraded by a login with the password of its home, once, and keeps its name and id', async () => {
    await using events = await collectEvents(identity, [userCreated])
    const wrong = await logIn('wrong')
    const wasStub = await isStub()

    const answers = await Promise.all(Array.from({ length: 16 }, () => logIn(homePassword)))

    expect([wrong, wasStub]).to.deep.equal([[401, 'invalid_credentials'], true])
    expect(answers).to.deep.equal(Array(16).fill([200, stub.id]))
    expect(await readUser(identity, stub.id)).to.include({ username: stub.username, homeUserId: '42' })
    expect((await events.ofUser(stub.id, 1)).map(({ payload }) => payload['origin'])).to.deep.equal(['stub_upgrade'])
  })

  it('is asked for by the name without its suffix', async () => {
    const second = await buildStub(identity, { username: 'erin~1@home.example', homeUserId: '43' })
    home.users['erin'] = { id: '43', password: homePassword }

    expect(await logIn(homePassword, second.username)).to.deep.equal([200, second.id])
    expect(askedNames()).to.deep.equal(['erin'])
  })

  it('is not upgraded by a login while federated registration is closed', async () => {
    await identity.deps.orm.em.fork().execute('update instance_settings set federated_registration_open = false')

    expect(await logIn('wrong')).to.deep.equal([401, 'invalid_credentials'])
    expect(await logIn(homePassword)).to.deep.equal([403, 'federated_registration_closed'])
    expect(await isStub()).to.equal(true)
  })
})
