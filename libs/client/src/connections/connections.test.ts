import { expect } from 'chai'
import { buildReady, buildToken, buildUser } from '../../test/builders.ts'
import { buildClient, buildConnectedClient, home, remote } from '../../test/harness.ts'
import { originOfAddress } from './remotes.ts'

const register = `POST ${remote}/api/auth/register`
const login = `POST ${remote}/api/auth/login`
const meThere = `GET ${remote}/api/users/@me`
const verify = `POST ${home}/api/users/@me/verify-password`
const update = `PATCH ${home}/api/users/@me`
const ensure = `POST ${home}/api/federation/peer/ensure`
const listed = buildUser({ replicatedInstances: [{ origin: remote, username: 'alice@home.example' }] })
const there = buildUser({ id: '77', username: 'alice@home.example', homeInstance: 'home.example', homeUserId: '1' })
const refusal = (status: number, error: string) => ({ status, body: { error, statusCode: status } })

describe('Client session behaviour: automatic connection on initSession', () => {
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

  it('tries login as well after another refusal that says already taken', async () => {
    for (const status of [400, 403]) {
      const { client, clock, network } = buildClient()
      network.answer(register, refusal(status, 'Username alice@home.example is already taken'))
      network.answer(login, refusal(401, 'Invalid username or password'))

      client.session.initSession(buildToken(), listed, { password: 'secret password' })
      await clock.advance(0)

      expect(network.sentTo(login)).to.have.length(1)
      expect(client.connections.find(remote)).to.include({ state: 'needs_password' })
    }
  })

  it('shows another 400 without trying login', async () => {
    const { client, clock, network } = buildClient()
    network.answer(register, refusal(400, 'Username must be shorter'))

    client.session.initSession(buildToken(), listed, { password: 'secret password' })
    await clock.advance(0)

    expect(network.sentTo(login)).to.have.length(0)
    expect(client.connections.find(remote)).to.include({ state: 'refused', error: 'Username must be shorter' })
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
    it(`leaves the instance ${state} after ${JSON.stringify(answer)}, and the session unchanged`, async () => {
      const { client, clock, network } = buildClient()
      network.answer(register, answer)

      client.session.initSession(buildToken(), listed, { password: 'secret password' })
      await clock.advance(0)

      expect(client.connections.find(remote)?.state).to.equal(state)
      expect(client.session.getSnapshot().user).to.equal(listed)
    })
  }

  it('needs the password when it has none, and never connects to itself or to an invalid address', async () => {
    const { client, clock, network } = buildClient()
    const origins = [remote, home, 'http://plain.example', 'nonsense://']
    const replicatedInstances = origins.map((origin) => ({ origin, username: 'alice@home.example' }))

    client.session.initSession(buildToken(), buildUser({ replicatedInstances }))
    await clock.advance(0)

    expect(client.connections.getSnapshot().map(({ origin, state }) => [origin, state])).to.deep.equal([
      [remote, 'needs_password'],
    ])
    expect(network.sent.map(({ url }) => url)).to.deep.equal([`${home}/api/users/@me/federation-credential`])
  })

  it('ignores a response that arrives after the log-out', async () => {
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
    const built = buildClient(storage)
    built.network.answer(`GET ${home}/api/users/@me`, { body: listed })
    built.network.answer(meThere, answerThere)
    await built.client.session.loadUser()
    await built.clock.advance(0)
    return built
  }

  it('are restored with their tokens, without a password', async () => {
    const { client, network } = await reload({ body: there })

    expect(network.sentTo(meThere)[0]?.token).to.equal('remote-token')
    expect(client.connections.find(remote)).to.include({ state: 'connected', token: 'remote-token' })
  })

  it('need the password when the token is refused', async () => {
    const { client } = await reload(refusal(401, 'Token has been revoked'))

    expect(client.connections.find(remote)).to.include({ state: 'needs_password', token: null })
  })

  it('keep the token of an unreachable instance and are restored by its live connection', async () => {
    const { client, sockets } = await reload('down')
    expect(client.connections.find(remote)).to.include({ state: 'unreachable', token: 'remote-token', online: false })

    const live = sockets.opened.find(({ url }) => url === 'wss://b.example/ws')
    live?.serverSends(buildReady({ user: there }))

    expect(client.connections.find(remote)).to.include({ state: 'connected', online: true })
    live?.serverCloses(4011)
    expect(client.connections.find(remote)).to.include({ state: 'needs_password', token: null, online: false })
  })
})

describe('connecting an instance', () => {
  async function buildConnecting() {
    const built = buildClient()
    built.network.answer(verify, { body: { valid: true } })
    built.network.answer(register, { status: 201, body: { token: 'remote-token', user: there } })
    built.network.answer(update, ({ json }) => ({ body: buildUser(json) }))
    built.client.session.initSession(buildToken(), buildUser())
    return built
  }

  it('verifies the password at home, signs in there and adds the instance to the own list', async () => {
    const { client, network } = await buildConnecting()

    const instance = await client.connections.connect('b.example', 'secret password')

    expect(instance).to.include({ origin: remote, state: 'connected' })
    expect(client.connections.apiOf(remote)?.origin).to.equal(remote)
    const replicatedInstances = [{ origin: remote, username: 'alice@home.example' }]
    expect(network.sentTo(update)[0]?.json).to.deep.equal({ replicatedInstances })
    expect(client.session.getSnapshot().user?.replicatedInstances).to.deep.equal(replicatedInstances)
  })

  it('then asks the own instance for a peering, without waiting for it or its success', async () => {
    const { client, network } = await buildConnecting()
    network.answer(ensure, 'hang')

    await client.connections.connect('b.example', 'secret password')
    expect(network.sentTo(ensure).map(({ json }) => json)).to.deep.equal([
      { remoteOrigin: remote, reason: 'instance_connect' },
    ])

    network.answer(ensure, refusal(429, 'Too Many Requests'))
    const instance = await client.connections.connect('b.example', 'secret password')
    expect(instance).to.include({ state: 'connected', error: null })
  })

  it('sends a wrong password to no other instance', async () => {
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

  it('removes a new instance that refused the sign-in', async () => {
    const { client, network } = await buildConnecting()
    network.answer(register, refusal(400, 'no'))

    const error = await client.connections.connect('b.example', 'secret password').catch((reason: unknown) => reason)

    expect(error).to.include({ status: 400, message: 'no' })
    expect(client.connections.getSnapshot()).to.deep.equal([])
  })

  it('removes an instance from both lists', async () => {
    const { client, network } = await buildConnecting()
    await client.connections.connect('b.example', 'secret password')

    await client.connections.remove(remote)

    expect(client.connections.getSnapshot()).to.deep.equal([])
    expect(network.sentTo(update).at(-1)?.json).to.deep.equal({ replicatedInstances: [] })
  })
})

describe('connections of two tabs', () => {
  it('read the tokens that another tab stored after a password change', async () => {
    const { client, clock, storage, network, otherTabChanged } = await buildConnectedClient()
    network.answer(meThere, { body: there })
    const stored = storage.getItem('service_remotes') ?? ''

    storage.setItem('service_remotes', stored.replace('remote-token', 'newer-token'))
    otherTabChanged('service_remotes')
    await clock.advance(0)

    expect(client.connections.find(remote)).to.include({ token: 'newer-token', state: 'connected' })
    expect(network.sentTo(meThere)[0]?.token).to.equal('newer-token')
  })

  it('do not overwrite what is stored for another user who logged in in another tab', async () => {
    const { client, clock, storage, sockets, otherTabChanged } = await buildConnectedClient()
    sockets.opened.find(({ url }) => url === 'wss://b.example/ws')?.serverSends(buildReady({ user: there }))
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
  it('is read from a typed address; plain http only where the own instance uses it', () => {
    expect(originOfAddress(' B.example/some/page ')).to.equal('https://b.example')
    expect(originOfAddress('https://b.example:8443')).to.equal('https://b.example:8443')
    expect(originOfAddress('http://localhost:8080', { allowHttp: true })).to.equal('http://localhost:8080')
    for (const wrong of ['', 'http://b.example', 'ftp://b.example', 'https://user:pw@b.example', 'https://', 'a b']) {
      expect(originOfAddress(wrong), wrong).to.equal(null)
    }
  })
})
