import { expect } from 'chai'
import { userCreated } from '@gatehouse/contracts'
import type { User } from '@gatehouse/domain'
import { OutboundFailure, type Outbound, type OutboundAnswer, type OutboundRequest } from '@gatehouse/outbound'
import { buildStub, buildUser, collectEvents, readUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'

const homePassword = 'the password at home'

/** A home instance with the users erin and mallory. */
function fakeHome() {
  const home = {
    asked: [] as string[],
    passwords: { erin: homePassword, mallory: 'the password of mallory' } as Record<string, string>,
    answer: undefined as (() => { status: number; body: string }) | undefined,
    outbound: {
      request: async (request: OutboundRequest): Promise<OutboundAnswer> => {
        const { username, password } = JSON.parse(String(request.body)) as Record<'username' | 'password', string>
        home.asked.push(username)
        const isRight = home.passwords[username] === password
        const usual = () => ({ status: isRight ? 200 : 401, body: '{"token":"at home"}' })
        const { status, body } = (home.answer ?? usual)()
        return { status, headers: {}, body: Buffer.from(body) }
      },
      [Symbol.asyncDispose]: async () => undefined,
    } satisfies Outbound,
  }
  return home
}

/** Contract: 7, Registration over a stub. */
describe('A stub', () => {
  let home: ReturnType<typeof fakeHome>
  let identity: TestIdentity
  let stub: User

  beforeEach(async () => {
    home = fakeHome()
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
    const { status, body } = await identity.call('POST', '/api/auth/login', { body: { username, password } })
    return [status, body['code'] ?? (body['user'] as { id: string }).id]
  }
  const isStub = async () => (await readUser(identity, stub.id)).isStub()
  const taken = [409, 'username_taken']

  it('is upgraded by the password of its home', async () => {
    expect(await register(homePassword)).to.deep.equal([200, stub.id])
    expect(home.asked).to.deep.equal(['erin'])
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
    expect(home.asked).to.deep.equal(['erin'])
    expect(await isStub()).to.equal(true)
  })

  it('is upgraded under the name that its home has for it', async () => {
    home.passwords['erika'] = homePassword
    identity.federation.user = { outcome: 'found', username: 'erika' }

    expect(await register(homePassword, 'erika@home.example')).to.deep.equal([200, stub.id])
    expect(home.asked).to.deep.equal(['erika'])
  })

  it('is not taken by who has its made-up name at its home', async () => {
    const unnamed = await buildStub(identity, { username: 'user_43@home.example', homeUserId: '43' })
    home.passwords['user_43'] = 'the password of a stranger'
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
    expect(home.asked).to.deep.equal(['erin', 'erin', 'user_43', 'erin'])
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

    expect(await logIn(homePassword, second.username)).to.deep.equal([200, second.id])
    expect(home.asked).to.deep.equal(['erin'])
  })

  it('is not upgraded by a login while federated registration is closed', async () => {
    await identity.deps.orm.em.fork().execute('update instance_settings set federated_registration_open = false')

    expect(await logIn('wrong')).to.deep.equal([401, 'invalid_credentials'])
    expect(await logIn(homePassword)).to.deep.equal([403, 'federated_registration_closed'])
    expect(await isStub()).to.equal(true)
  })
})
