import { expect } from 'chai'
import { buildReady, buildToken, buildUser } from '../../test/builders.ts'
import { buildClient, buildConnectedClient, home, remote } from '../../test/harness.ts'
import { normalizeOrigin } from './remote-instance.ts'

const register = `POST ${remote}/api/auth/register`
const login = `POST ${remote}/api/auth/login`
const meThere = `GET ${remote}/api/users/@me`
const verify = `POST ${home}/api/users/@me/verify-password`
const update = `PATCH ${home}/api/users/@me`
const listed = buildUser({ replicatedInstances: [{ origin: remote, username: 'alice@home.example' }] })
const there = buildUser({ id: '77', username: 'alice@home.example', homeInstance: 'home.example', homeUserId: '1' })
const refusal = (status: number, error: string) => ({ status, body: { error, statusCode: status } })

describe('automatic connection on initSession', () => {
  it('registers the federated identity on each listed instance', async () => {
    const { client, network } = await buildConnectedClient()

    expect(network.sentTo(register)[0]).to.deep.include({
      json: {
        username: 'alice@home.example',
        password: 'old password',
        homeInstance: 'home.example',
        homeUserId: '1',
        avatarColor: 'mint',
      },
      token: null,
    })
    expect(client.connections.find(remote)).to.include({ state: 'connected', token: 'remote-token' })
    expect(client.connections.find(remote)?.user?.id).to.equal('77')
  })

  it('then tries login when the answer is 409', async () => {
    const { client, clock, network } = buildClient()
    network.answer(register, refusal(409, 'Username already taken'))
    network.answer(login, { body: { token: 'by-login', user: there } })

    client.session.initSession(buildToken(), listed, { password: 'secret password' })
    await clock.advance(0)

    expect(network.sentTo(login)[0]?.json).to.deep.equal({
      username: 'alice@home.example',
      password: 'secret password',
    })
    expect(client.connections.find(remote)).to.include({ state: 'connected', token: 'by-login' })
  })

  it('tries login where federated registration is closed, since existing accounts always log in', async () => {
    const { client, clock, network } = buildClient()
    network.answer(register, refusal(403, 'Federated registration is closed on this instance'))
    network.answer(login, refusal(401, 'Invalid username or password'))

    client.session.initSession(buildToken(), listed, { password: 'secret password' })
    await clock.advance(0)

    expect(network.sentTo(login)).to.have.length(1)
    expect(client.connections.find(remote)).to.include({
      state: 'refused',
      error: 'Federated registration is closed on this instance',
    })
  })

  for (const [answer, state] of [
    ['down', 'unreachable'],
    [refusal(503, 'busy'), 'unreachable'],
    [refusal(400, 'no'), 'refused'],
  ] as const) {
    it(`leaves the instance ${state} after ${JSON.stringify(answer)}, and the session alone`, async () => {
      const { client, clock, network } = buildClient()
      network.answer(register, answer)

      client.session.initSession(buildToken(), listed, { password: 'secret password' })
      await clock.advance(0)

      expect(client.connections.find(remote)?.state).to.equal(state)
      expect(client.session.getSnapshot().user).to.equal(listed)
    })
  }

  it('waits for the password where there is none, and never connects to itself or to a wrong address', async () => {
    const { client, clock, network } = buildClient()
    const origins = [remote, home, 'http://plain.example', 'nonsense://']
    const replicatedInstances = origins.map((origin) => ({ origin, username: 'alice@home.example' }))

    client.session.initSession(buildToken(), buildUser({ replicatedInstances }))
    await clock.advance(0)

    expect(client.connections.getSnapshot().map(({ origin, state }) => [origin, state])).to.deep.equal([
      [remote, 'needs_password'],
    ])
    expect(network.sent).to.have.length(0)
  })

  it('drops an answer that comes after the log-out', async () => {
    const { client, clock, storage, network } = buildClient()
    let answerNow = () => {}
    network.answer(
      register,
      () => new Promise((resolve) => (answerNow = () => resolve({ body: { token: 'x', user: there } }))),
    )
    client.session.initSession(buildToken(), listed, { password: 'secret password' })
    await clock.advance(0)

    client.logOut()
    client.session.initSession(buildToken('2'), buildUser({ ...listed, id: '2' }))
    answerNow()
    await clock.advance(0)

    expect(client.connections.find(remote)).to.include({ state: 'needs_password', token: null })
    expect([...storage.values.values()].join()).not.to.include('"x"')
  })
})

describe('connections after a reload', () => {
  async function reload(answerThere: Parameters<ReturnType<typeof buildClient>['network']['answer']>[1]) {
    const { client, storage } = await buildConnectedClient()
    client.close()
    const world = buildClient(storage)
    world.network.answer(`GET ${home}/api/users/@me`, { body: listed })
    world.network.answer(meThere, answerThere)
    await world.client.session.loadUser()
    await world.clock.advance(0)
    return world
  }

  it('come back with their tokens, without any password', async () => {
    const { client, network } = await reload({ body: there })

    expect(network.sentTo(meThere)[0]?.token).to.equal('remote-token')
    expect(client.connections.find(remote)).to.include({ state: 'connected', token: 'remote-token' })
  })

  it('need the password when the token is refused', async () => {
    const { client } = await reload(refusal(401, 'Token has been revoked'))

    expect(client.connections.find(remote)).to.include({ state: 'needs_password', token: null })
  })

  it('keep the token of an unreachable instance and come back when its live connection does', async () => {
    const { client, sockets } = await reload('down')
    expect(client.connections.find(remote)).to.include({ state: 'unreachable', token: 'remote-token', online: false })

    const link = sockets.opened.find(({ url }) => url === 'wss://b.example/ws')
    link?.serverSays(buildReady({ user: there }))

    expect(client.connections.find(remote)).to.include({ state: 'connected', online: true })
    link?.serverCloses(4011)
    expect(client.connections.find(remote)).to.include({ state: 'needs_password', token: null, online: false })
  })
})

describe('connecting by hand', () => {
  async function buildConnecting() {
    const world = buildClient()
    world.network.answer(verify, { body: { valid: true } })
    world.network.answer(register, { status: 201, body: { token: 'remote-token', user: there } })
    world.network.answer(update, ({ json }) => ({ body: buildUser(json) }))
    world.client.session.initSession(buildToken(), buildUser())
    return world
  }

  it('proves the password at home, signs in there and adds the instance to the own list', async () => {
    const { client, network } = await buildConnecting()

    const instance = await client.connections.connect('b.example', 'secret password')

    expect(instance).to.include({ origin: remote, state: 'connected' })
    expect(client.connections.apiOf(remote)?.origin).to.equal(remote)
    const replicatedInstances = [{ origin: remote, username: 'alice@home.example' }]
    expect(network.sentTo(update)[0]?.json).to.deep.equal({ replicatedInstances })
    expect(client.session.getSnapshot().user?.replicatedInstances).to.deep.equal(replicatedInstances)
  })

  it('sends a mistyped password nowhere', async () => {
    const { client, network } = await buildConnecting()
    network.answer(verify, { body: { valid: false } })

    const error = await client.connections.connect('b.example', 'wrong').catch((reason: unknown) => reason)

    expect(error).to.include({ status: 403 })
    expect(network.sentTo(register)).to.have.length(0)
  })

  it('keeps both of two instances that are added at the same time', async () => {
    const { client, network } = await buildConnecting()
    network.answer('POST https://c.example/api/auth/register', { status: 201, body: { token: 'c-token', user: there } })

    await Promise.all([
      client.connections.connect('b.example', 'secret password'),
      client.connections.connect('c.example', 'secret password'),
    ])

    const { user } = client.session.getSnapshot()
    expect(user?.replicatedInstances.map(({ origin }) => origin)).to.have.members([remote, 'https://c.example'])
  })

  it('leaves no trace of a new instance that said no', async () => {
    const { client, network } = await buildConnecting()
    network.answer(register, refusal(400, 'no'))

    const error = await client.connections.connect('b.example', 'secret password').catch((reason: unknown) => reason)

    expect(error).to.include({ status: 400, message: 'no' })
    expect(client.connections.getSnapshot()).to.deep.equal([])
  })

  it('takes an instance off both lists', async () => {
    const { client, network } = await buildConnecting()
    await client.connections.connect('b.example', 'secret password')

    await client.connections.remove(remote)

    expect(client.connections.getSnapshot()).to.deep.equal([])
    expect(network.sentTo(update).at(-1)?.json).to.deep.equal({ replicatedInstances: [] })
  })
})

describe('connections of two tabs', () => {
  it('take over the tokens that another tab got by a password change', async () => {
    const { client, clock, storage, network, otherTabChanged } = await buildConnectedClient()
    network.answer(meThere, { body: there })
    const kept = storage.getItem('service_remotes') ?? ''

    storage.setItem('service_remotes', kept.replace('remote-token', 'newer-token'))
    otherTabChanged('service_remotes')
    await clock.advance(0)

    expect(client.connections.find(remote)).to.include({ token: 'newer-token', state: 'connected' })
    expect(network.sentTo(meThere)[0]?.token).to.equal('newer-token')
  })

  it('leave alone what another user keeps who logged in in another tab', async () => {
    const { client, clock, storage, sockets, otherTabChanged } = await buildConnectedClient()
    sockets.opened.find(({ url }) => url === 'wss://b.example/ws')?.serverSays(buildReady({ user: there }))
    const theirs = JSON.stringify({ userId: '2', remotes: [] })

    storage.setItem('service_token', buildToken('2'))
    storage.setItem('service_remotes', theirs)
    otherTabChanged('service_token')
    expect(storage.getItem('service_remotes')).to.equal(theirs)
    await clock.advance(0)

    expect(client.connections.getSnapshot()).to.deep.equal([])
  })
})

describe('the origin of an instance', () => {
  it('is read from what a person types; plain http only where the own instance speaks it', () => {
    expect(normalizeOrigin(' B.example/some/page ')).to.equal('https://b.example')
    expect(normalizeOrigin('https://b.example:8443')).to.equal('https://b.example:8443')
    expect(normalizeOrigin('http://localhost:8080', { allowHttp: true })).to.equal('http://localhost:8080')
    for (const wrong of ['', 'http://b.example', 'ftp://b.example', 'https://user:pw@b.example', 'https://', 'a b']) {
      expect(normalizeOrigin(wrong), wrong).to.equal(null)
    }
  })
})
