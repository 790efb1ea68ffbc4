import { expect } from 'chai'
import { buildToken, buildUser } from '../../test/builders.ts'
import { settle } from '../../test/fake-clock.ts'
import { buildClient, buildConnectedClient, createFakeStorage, home, remote } from '../../test/harness.ts'

const me = `GET ${home}/api/users/@me`

describe('Client session behaviour: the session store', () => {
  it('keeps the token in the storage under service_token and reads it when the store is created', () => {
    const storage = createFakeStorage()
    storage.setItem('service_token', 'kept')

    expect(buildClient(storage).client.session.getSnapshot()).to.deep.include({ token: 'kept', user: null })
  })

  it('initSession clears all user-scoped stores and the self-id registry', () => {
    const { client } = buildClient()
    let resets = 0
    client.userScopedStores.register({ reset: () => void (resets += 1) })
    client.identity.selfIds.add('99')

    client.session.initSession('t', buildUser())

    expect(resets).to.equal(1)
    expect(client.identity.selfIds.has('99')).to.equal(false)
  })

  it('initSession saves the token, then sets token and user', () => {
    const { client, storage } = buildClient()
    const savedWhenSet: (string | null)[] = []
    client.session.subscribe(() => {
      if (client.session.getSnapshot().user) savedWhenSet.push(storage.getItem('service_token'))
    })

    client.session.initSession('t', buildUser())

    expect(savedWhenSet).to.deep.equal(['t'])
    expect(client.session.getSnapshot()).to.deep.include({ token: 't', user: buildUser(), ended: null })
  })

  it('initSession starts the automatic connection to federated instances without waiting', async () => {
    const { client, network } = buildClient()
    network.answer(`POST ${remote}/api/auth/register`, 'hang')
    const user = buildUser({ replicatedInstances: [{ origin: remote, username: 'alice@home.example' }] })

    client.session.initSession('t', user, { password: 'secret password' })
    await settle()

    expect(client.session.getSnapshot().user).to.equal(user)
    expect(client.connections.find(remote)?.state).to.equal('connecting')
    expect(network.sentTo(`POST ${remote}/api/auth/register`)).to.have.length(1)
  })

  it('initSession connects by itself with its two arguments, from the tokens kept for the instances', async () => {
    const { client: before, storage, sockets } = await buildConnectedClient()
    before.close()
    const { client, clock, network } = buildClient(storage)
    const user = buildUser({ replicatedInstances: [{ origin: remote, username: 'alice@home.example' }] })
    network.answer(`GET ${remote}/api/users/@me`, { body: buildUser({ id: '77' }) })

    client.session.initSession(buildToken('1', 'b'), user)
    await clock.advance(0)

    expect(client.connections.find(remote)).to.include({ state: 'connected', token: 'remote-token' })
    expect(network.sentTo(`GET ${remote}/api/users/@me`)[0]?.token).to.equal('remote-token')
    client.session.initSession(buildToken('1', 'c'), user)
    await clock.advance(0)
    expect(client.connections.find(remote)).to.include({ state: 'connected', token: 'remote-token' })
    expect(sockets.opened).not.to.have.length(0)
  })

  it('initSession with a password signs in only where no kept token is accepted', async () => {
    const { client: before, storage } = await buildConnectedClient([remote, 'https://c.example'])
    before.close()
    const { client, clock, network } = buildClient(storage)
    const origins = [remote, 'https://c.example', 'https://d.example']
    const user = buildUser({
      replicatedInstances: origins.map((origin) => ({ origin, username: 'alice@home.example' })),
    })
    network.answer(`GET ${remote}/api/users/@me`, { body: buildUser({ id: '77' }) })
    network.answer('GET https://c.example/api/users/@me', { status: 401, body: { error: 'Token has been revoked' } })

    client.session.initSession(buildToken('1', 'b'), user, { password: 'old password' })
    await clock.advance(0)

    const registered = network.sent.filter(({ url }) => url.endsWith('/register')).map(({ url }) => new URL(url).origin)
    expect(registered).to.have.members(['https://c.example', 'https://d.example'])
    expect(client.connections.find(remote)).to.include({ state: 'connected', token: 'remote-token' })
  })

  it('initSession uses no token that was kept for another user', async () => {
    const { client, clock, storage, network } = await buildConnectedClient()
    const user = buildUser({ id: '2', replicatedInstances: [{ origin: remote, username: 'bob@home.example' }] })
    network.sent.length = 0

    client.session.initSession(buildToken('2'), user)
    await clock.advance(0)

    expect(client.connections.find(remote)).to.include({ state: 'needs_password', token: null })
    expect(network.sent.map(({ url }) => url)).to.deep.equal([`${home}/api/users/@me/federation-credential`])
    expect(storage.getItem('service_remotes')).not.to.include('remote-token')
  })

  it('loadUser runs when a token exists without a user and fetches the current user', async () => {
    const { client, network } = buildClient()
    await client.session.loadUser()
    expect(network.sent).to.have.length(0)
    client.session.replaceToken('t')
    network.answer(me, { body: buildUser() })

    const [first, second] = await Promise.all([client.session.loadUser(), client.session.loadUser()])
    await client.session.loadUser()

    expect([first, second]).to.deep.equal([buildUser(), buildUser()])
    expect(network.sentTo(me)).to.have.length(1)
    expect(network.sent[0]?.token).to.equal('t')
  })

  for (const failure of [
    { status: 401, body: { error: 'Invalid token' } },
    { status: 403, body: { error: 'Forbidden', statusCode: 403 } },
    { status: 404, body: { error: 'Not found', statusCode: 404, code: 'not_found' } },
  ]) {
    it(`loadUser removes the token and clears state on failure: ${JSON.stringify(failure)}`, async () => {
      const { client, storage, network } = buildClient()
      client.session.replaceToken('t')
      network.answer(me, failure)

      expect(await client.session.loadUser()).to.equal(null)

      expect(storage.getItem('service_token')).to.equal(null)
      expect(client.session.getSnapshot()).to.deep.include({ token: null, user: null, loading: false })
      expect(client.session.getSnapshot().ended).not.to.equal(null)
    })
  }

  for (const failure of [
    'down',
    { status: 408 },
    { status: 429 },
    { status: 500 },
    { status: 503 },
    { body: '?' },
  ] as const) {
    it(`loadUser keeps the token and tries again, later each time, after no real answer: ${JSON.stringify(failure)}`, async () => {
      const storage = createFakeStorage()
      storage.setItem('service_token', 't')
      const { client, clock, network } = buildClient(storage)
      const tab = buildClient(storage)
      network.answer(me, failure)
      const loading = client.session.loadUser()
      await clock.advance(90_000)
      tab.otherTabChanged('service_token')

      expect(client.session.getSnapshot()).to.deep.include({ token: 't', user: null, reconnecting: true, ended: null })
      expect(tab.client.session.getSnapshot()).to.deep.include({ token: 't', ended: null })
      expect(network.sentTo(me)).to.have.length.within(2, 10)
      network.answer(me, { body: buildUser() })
      await clock.advance(60_000)

      expect(await loading).to.deep.equal(buildUser())
      expect(client.session.getSnapshot()).to.deep.include({ loading: false, reconnecting: false, ended: null })
      expect(storage.getItem('service_token')).to.equal('t')
    })
  }

  it('loadUser tries at once when it is called again, and stops with a logout or the end of the client', async () => {
    const { client, clock, network } = buildClient()
    client.session.replaceToken('t')
    network.answer(me, 'down')
    const loading = client.session.loadUser()
    await settle()
    void client.session.loadUser()
    await settle()
    expect(network.sentTo(me)).to.have.length(2)

    client.logOut()

    expect(await loading).to.equal(null)
    expect(client.session.getSnapshot()).to.deep.include({ loading: false, reconnecting: false })
    client.session.replaceToken('u')
    const again = client.session.loadUser()
    await settle()
    client.close()
    expect(await again).to.equal(null)
    expect(clock.pending()).to.equal(0)
    expect(client.session.getSnapshot().token).to.equal('u')
  })

  it('loadUser ignores a response that arrives after another log-in', async () => {
    const { client, network } = buildClient()
    client.session.replaceToken('t')
    let answerNow = () => {}
    network.answer(me, () => new Promise((resolve) => (answerNow = () => resolve({ body: buildUser() }))))
    const loading = client.session.loadUser()
    await settle()

    client.session.initSession('u', buildUser({ id: '2', username: 'bob' }))
    answerNow()
    await loading

    expect(client.session.getSnapshot()).to.deep.include({ token: 'u', loading: false })
    expect(client.session.getSnapshot().user?.username).to.equal('bob')
  })

  it('logout removes the token, resets all stores and self ids, and clears token and user', async () => {
    const { client, storage } = await buildConnectedClient()
    client.identity.selfIds.add('99')

    client.logOut()

    expect([...storage.values.keys()]).to.deep.equal([])
    expect(client.identity.selfIds.has('99')).to.equal(false)
    expect(client.connections.getSnapshot()).to.deep.equal([])
    expect(client.session.getSnapshot()).to.deep.include({ token: null, user: null })
    expect(client.session.getSnapshot().ended?.reason).to.equal('logged_out')
  })

  it('logout cancels password-sync timers', async () => {
    const { client, clock, network } = await buildConnectedClient()
    network.answer(`POST ${remote}/api/users/@me/change-password`, 'down')
    void client.passwordPropagation.propagate('new password')
    await clock.advance(2_000)

    client.logOut()
    await clock.advance(3_600_000)

    expect(network.sentTo(`POST ${remote}/api/users/@me/change-password`)).to.have.length(2)
    expect(clock.pending()).to.equal(0)
  })

  it('ends when the instance refuses its token on any call', async () => {
    const { client, storage, network } = buildClient()
    client.session.initSession('t', buildUser())
    network.answer(`GET ${home}/api/users/5`, { status: 401, body: { error: 'Token has been revoked' } })

    await client.call('getUser', { params: { id: '5' } }).catch(() => undefined)

    expect(client.session.getSnapshot().ended?.reason).to.equal('token_refused')
    expect(storage.getItem('service_token')).to.equal(null)
  })

  it('does not end when its old token is refused during a password change', async () => {
    const { client, network } = buildClient()
    client.session.initSession('old', buildUser())
    let answerNow = () => {}
    const change = `POST ${home}/api/users/@me/change-password`
    network.answer(change, () => new Promise((resolve) => (answerNow = () => resolve({ body: { token: 'new' } }))))
    network.answer(`GET ${home}/api/users/5`, { status: 401, body: { error: 'Token has been revoked' } })

    const changing = client.changePassword({ currentPassword: 'a', newPassword: 'b' })
    await client.call('getUser', { params: { id: '5' } }).catch(() => undefined)
    answerNow()
    await changing

    expect(client.session.getSnapshot()).to.deep.include({ token: 'new', user: buildUser() })
  })

  for (const [what, next] of [
    ['logs out', null],
    ['logs in to another account', 'another'],
  ] as const) {
    it(`stays as it is when the user ${what} before a password change is answered`, async () => {
      const { client, storage, network } = buildClient()
      client.session.initSession('old', buildUser())
      let answerNow = () => {}
      const change = `POST ${home}/api/users/@me/change-password`
      network.answer(change, () => new Promise((resolve) => (answerNow = () => resolve({ body: { token: 'new' } }))))

      const changing = client.changePassword({ currentPassword: 'a', newPassword: 'b' })
      await settle()
      client.logOut()
      if (next) client.session.initSession(next, buildUser({ id: '2' }))
      answerNow()
      await changing

      expect(network.sentTo(change)).to.have.length(1)
      expect(client.session.getSnapshot().token).to.equal(next)
      expect(storage.getItem('service_token')).to.equal(next)
    })
  }
})

describe('ending all sessions', () => {
  const end = `POST ${home}/api/users/@me/sessions/end`

  it('keeps this session with the new token, also when its socket closes before the answer', async () => {
    const { client, clock, storage, network, sockets } = buildClient()
    client.session.initSession('old', buildUser())
    let answerNow = () => {}
    network.answer(end, () => new Promise((resolve) => (answerNow = () => resolve({ body: { token: 'new' } }))))

    const ending = client.endSessions('a password')
    await settle()
    sockets.last().serverCloses(4004)
    answerNow()
    await ending
    await clock.advance(2_000)

    expect(network.sentTo(end)[0]).to.deep.include({ json: { password: 'a password' }, token: 'old' })
    expect(client.session.getSnapshot()).to.deep.include({ token: 'new', user: buildUser(), ended: null })
    expect(storage.getItem('service_token')).to.equal('new')
    sockets.last().serverAccepts()
    expect(sockets.last().sent).to.deep.equal([{ type: 'auth', token: 'new' }])
  })

  it('changes nothing when the password is wrong', async () => {
    const { client, network } = buildClient()
    client.session.initSession('old', buildUser())
    network.answer(end, { status: 403, body: { error: 'Incorrect password' } })

    expect(await client.endSessions('wrong').catch((error: unknown) => error)).to.include({ status: 403 })

    expect(client.session.getSnapshot().token).to.equal('old')
  })

  it('ends the session elsewhere when the socket says that the token has been revoked, as its expiry does', () => {
    const { client, sockets } = buildClient()
    client.session.initSession('old', buildUser())

    sockets.last().serverCloses(4004)

    expect(client.session.getSnapshot().ended).to.deep.equal({
      reason: 'token_refused',
      message: 'Your session has ended. Please log in again.',
    })
  })
})

describe('Client session behaviour: the session store of two tabs', () => {
  it('uses the new token when another tab changed the password', () => {
    const { client, storage, otherTabChanged } = buildClient()
    client.session.initSession(buildToken('1', 'old'), buildUser())

    storage.setItem('service_token', buildToken('1', 'new'))
    otherTabChanged('service_token')

    expect(client.session.getSnapshot()).to.deep.include({ token: buildToken('1', 'new'), user: buildUser() })
  })

  it('uses a newer stored token when its own is refused', () => {
    const { client, storage } = buildClient()
    client.session.initSession(buildToken('1', 'old'), buildUser())
    storage.setItem('service_token', buildToken('1', 'new'))

    const over = client.session.invalidateToken(buildToken('1', 'old'), { reason: 'token_refused', message: '' })

    expect(over).to.equal(false)
    expect(client.session.getSnapshot().token).to.equal(buildToken('1', 'new'))
  })

  it('ends when another tab logged out', () => {
    const { client, storage, otherTabChanged } = buildClient()
    client.session.initSession('t', buildUser())

    storage.removeItem('service_token')
    otherTabChanged('service_token')

    expect(client.session.getSnapshot().ended?.reason).to.equal('ended_elsewhere')
  })

  it('clears the user and loads the new one when another tab logged in as another user', async () => {
    const { client, storage, network, otherTabChanged } = buildClient()
    client.session.initSession(buildToken('1'), buildUser())
    network.answer(me, { body: buildUser({ id: '2', username: 'bob' }) })

    storage.setItem('service_token', buildToken('2'))
    otherTabChanged('service_token')
    expect(client.session.getSnapshot().user).to.equal(null)
    await settle()

    expect(client.session.getSnapshot().user?.username).to.equal('bob')
  })
})
