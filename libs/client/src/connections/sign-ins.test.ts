import { createChallenge } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/web/pbkdf2'
import { expect } from 'chai'
import { buildToken, buildUser } from '../../test/builders.ts'
import { buildClient, buildConnectedClient, home, remote } from '../../test/harness.ts'
import type { Reply, Sent } from '../../test/fake-network.ts'

const issuing = `POST ${home}/api/users/@me/federation-credential`
const verify = `POST ${home}/api/users/@me/verify-password`
const register = `POST ${remote}/api/auth/register`
const login = `POST ${remote}/api/auth/login`
const meThere = `GET ${remote}/api/users/@me`
const change = `POST ${remote}/api/users/@me/change-password`

const there = buildUser({ id: '77', username: 'alice@home.example', homeInstance: 'home.example', homeUserId: '1' })
const listed = buildUser({ replicatedInstances: [{ origin: remote, username: 'alice@home.example' }] })
const refusal = (status: number, code?: string) => ({ status, body: { error: code ?? 'no', statusCode: status, code } })

type Built = ReturnType<typeof buildClient>

/** A home that issues `secret of b`, and whether it has been marked. */
function issueAt({ network }: Built, { provisioned = false } = {}) {
  const issued = { provisioned }
  network.answer(issuing, ({ json }) => {
    if (json['markProvisioned']) issued.provisioned = true
    return { body: { origin: remote, secret: 'secret of b', provisioned: issued.provisioned } }
  })
  return issued
}

/** An account at the remote with `password`. */
function accountAt({ network }: Built, password: string) {
  const account = { password }
  network.answer(register, refusal(409, 'username_taken'))
  network.answer(login, ({ json }): Reply =>
    json['password'] === account.password ? { body: { token: 'by-login', user: there } } : refusal(401),
  )
  network.answer(change, ({ json }: Sent): Reply => {
    account.password = String(json['newPassword'])
    return { body: { token: 'changed' } }
  })
  return account
}

const passwordsSentTo = ({ network }: Built, call: string) =>
  network.sentTo(call).map(({ json }) => json['password'] ?? json['newPassword'])
const passwordsSentElsewhere = ({ network }: Built) =>
  network.sent
    .filter(({ url }) => !url.startsWith(home))
    .flatMap(({ json }) => [json['password'], json['newPassword']])
    .filter((password) => password !== undefined)

async function buildConnecting(user = buildUser()) {
  const built = buildClient()
  built.network.answer(verify, { body: { valid: true } })
  built.network.answer(register, { status: 201, body: { token: 'remote-token', user: there } })
  built.network.answer(`PATCH ${home}/api/users/@me`, ({ json }) => ({ body: buildUser(json) }))
  built.client.session.initSession(buildToken(), user)
  return built
}

/** protocol.md 4.8. */
describe('connecting with the password that the home issues', () => {
  it('registers with it after the password was verified at home, marks it, and sends the home password nowhere', async () => {
    const built = await buildConnecting()
    const issued = issueAt(built)

    await built.client.connections.connect('b.example', 'home password')
    await built.clock.advance(0)

    const order = built.network.sent.map(({ method, url }) => `${method} ${url}`)
    expect(order.slice(0, 4)).to.deep.equal([verify, issuing, register, issuing])
    expect(built.network.sentTo(issuing)[0]?.json).to.deep.equal({ origin: remote })
    expect(issued.provisioned).to.equal(true)
    expect(passwordsSentElsewhere(built)).to.deep.equal(['secret of b'])
    expect(built.client.connections.find(remote)).to.include({ state: 'connected', ownPassword: true })
  })

  for (const answer of [refusal(409), refusal(403, 'registration_closed'), refusal(403)]) {
    it(`logs in once with it after ${answer.status} ${answer.body.code ?? 'without a code'}`, async () => {
      const built = await buildConnecting()
      issueAt(built)
      accountAt(built, 'secret of b')
      built.network.answer(register, answer)

      await built.client.connections.connect('b.example', 'home password')

      expect(passwordsSentTo(built, login)).to.deep.equal(['secret of b'])
      expect(built.client.connections.find(remote)).to.include({ token: 'by-login', ownPassword: true })
    })
  }

  /** Contract: 3, Proof of work. */
  it('solves the proof of work that an instance asks for, and registers again with it', async () => {
    const built = await buildConnecting()
    issueAt(built)
    const data = { counterMax: 3 }
    const challenge = await createChallenge({ algorithm: 'PBKDF2/SHA-512', cost: 1, counter: 2, data, deriveKey })
    built.network.answer(`GET ${remote}/api/auth/challenge`, { body: challenge })
    built.network.answer(register, ({ json }): Reply =>
      json['proof'] ? { status: 201, body: { token: 'proven', user: there } } : refusal(403, 'proof_required'),
    )

    await built.client.connections.connect('b.example', 'home password')

    const [first, second] = built.network.sentTo(register).map(({ json }) => json)
    expect({ ...second, proof: undefined }).to.deep.equal({ ...first, proof: undefined })
    expect(JSON.parse(atob(String(second?.['proof'])))).to.deep.include({
      challenge: JSON.parse(JSON.stringify(challenge)),
    })
    expect(built.client.connections.find(remote)).to.include({ token: 'proven', state: 'connected' })
    expect(built.network.sentTo(login)).to.have.length(0)
  })

  it('ends at another refusal, and where the account there has another password', async () => {
    const built = await buildConnecting()
    issueAt(built)
    built.network.answer(register, refusal(400))
    const other = await built.client.connections.connect('b.example', 'home password').catch((error: unknown) => error)
    expect(other).to.include({ status: 400 })
    expect(built.network.sentTo(login)).to.have.length(0)

    accountAt(built, 'home password')
    const wrong = await built.client.connections.connect('b.example', 'home password').catch((error: unknown) => error)
    expect(wrong).to.include({ status: 401 })
    expect(passwordsSentElsewhere(built)).to.deep.equal(['secret of b', 'secret of b', 'secret of b'])
    expect(built.client.connections.find(remote)).to.equal(null)
  })

  for (const provisioned of [false, true]) {
    it(`then sets it, after a log-in with the password of the account there (marked before: ${provisioned})`, async () => {
      const built = await buildConnecting()
      const issued = issueAt(built, { provisioned })
      const account = accountAt(built, 'password at b')

      const remotePassword = 'password at b'
      await built.client.connections.connect('b.example', 'home password', { remotePassword })
      await built.clock.advance(0)

      expect(built.network.sentTo(register)).to.have.length(0)
      expect(built.network.sentTo(change)[0]).to.deep.include({
        json: { newPassword: 'secret of b' },
        token: 'by-login',
      })
      expect([account.password, issued.provisioned]).to.deep.equal(['secret of b', true])
      expect(built.client.connections.find(remote)).to.include({ token: 'changed', ownPassword: true })
    })
  }

  it('keeps the session where it cannot be set', async () => {
    const built = await buildConnecting()
    issueAt(built)
    accountAt(built, 'password at b')
    built.network.answer(change, refusal(503))

    await built.client.connections.connect('b.example', 'home password', { remotePassword: 'password at b' })

    expect(built.client.connections.find(remote)).to.include({ token: 'by-login', ownPassword: false })
    expect(built.network.sentTo(issuing).map(({ json }) => json)).to.deep.equal([{ origin: remote }])
  })

  for (const status of [404, 405]) {
    it(`goes as before with a home that issues none: ${status}`, async () => {
      const built = await buildConnecting()
      built.network.answer(issuing, refusal(status))

      await built.client.connections.connect('b.example', 'home password')

      expect(passwordsSentElsewhere(built)).to.deep.equal(['home password'])
      expect(built.client.connections.find(remote)).to.include({ state: 'connected', ownPassword: false })
    })
  }

  it('sends nothing elsewhere while the home does not answer', async () => {
    const built = await buildConnecting()
    for (const answer of ['down', refusal(503), refusal(409)] as const) {
      built.network.answer(issuing, answer)
      const error = await built.client.connections
        .connect('b.example', 'home password')
        .catch((reason: unknown) => reason)
      expect(error).to.be.an('error')
    }
    expect(passwordsSentElsewhere(built)).to.deep.equal([])
  })

  it('signs a replica in at its home with its bare name, and elsewhere only through a session there', async () => {
    const replica = buildUser({ username: 'kai@b.example', homeInstance: 'b.example', homeUserId: '9' })
    const built = await buildConnecting(replica)
    built.network.answer(`PATCH ${home}/api/users/@me`, ({ json }) => ({ body: { ...replica, ...json } }))
    const other = 'https://c.example'
    const early = await built.client.connections.connect(other, 'password of b').catch((error: unknown) => error)
    expect(early).to.include({ status: 403 })
    expect(built.network.sent).to.have.length(0)

    const kai = buildUser({ id: '9', username: 'kai' })
    built.network.answer(login, { body: { token: 'at-home', user: kai } })
    await built.client.connections.connect(remote, 'password of b')
    expect(built.network.sentTo(login)[0]?.json).to.deep.equal({ username: 'kai', password: 'password of b' })
    expect(built.network.sentTo(register)).to.have.length(0)

    built.network.answer(`POST ${remote}/api/users/@me/verify-password`, { body: { valid: true } })
    built.network.answer(`POST ${remote}/api/users/@me/federation-credential`, {
      body: { origin: other, secret: 'secret of c', provisioned: false },
    })
    const registerOther = `POST ${other}/api/auth/register`
    built.network.answer(registerOther, { status: 201, body: { token: 'c-token', user: buildUser({ id: '5' }) } })
    await built.client.connections.connect(other, 'password of b')
    expect(built.network.sentTo(registerOther)[0]?.json).to.include({
      username: 'kai@b.example',
      password: 'secret of c',
      homeInstance: 'b.example',
      homeUserId: '9',
    })
  })
})

describe('Client session behaviour: automatic connection with issued passwords', () => {
  it('needs no password on initSession', async () => {
    const built = buildClient()
    issueAt(built)
    accountAt(built, 'secret of b')

    built.client.session.initSession(buildToken(), listed)
    await built.clock.advance(0)

    expect(built.client.connections.find(remote)).to.include({ state: 'connected', ownPassword: true })
    const ensured = built.network.sentTo(`POST ${home}/api/federation/peer/ensure`).map(({ json }) => json)
    expect(ensured).to.deep.equal([{ remoteOrigin: remote, reason: 'instance_connect' }])
  })

  it('tries the home password after it only where the account may be older than it, and then sets it', async () => {
    for (const provisioned of [false, true]) {
      const built = buildClient()
      issueAt(built, { provisioned })
      const account = accountAt(built, 'home password')
      built.client.session.initSession(buildToken(), listed, { password: 'home password' })
      await built.clock.advance(0)

      const tried = provisioned ? ['secret of b'] : ['secret of b', 'home password']
      expect(passwordsSentTo(built, login)).to.deep.equal(tried)
      expect(account.password).to.equal(provisioned ? 'home password' : 'secret of b')
      expect(built.client.connections.find(remote)?.state).to.equal(provisioned ? 'needs_password' : 'connected')
    }
  })

  it('leaves an instance that was disconnected on this device as it is, after a reload', async () => {
    const { client, storage } = await buildConnectedClient()
    client.connections.disconnect(remote)
    client.close()
    const built = buildClient(storage)
    issueAt(built)
    built.network.answer(`GET ${home}/api/users/@me`, { body: listed })
    await built.client.session.loadUser()
    await built.clock.advance(0)

    expect(built.client.connections.find(remote)?.state).to.equal('needs_password')
    expect(built.network.sentTo(issuing)).to.have.length(0)
  })
})

describe('a session that began before its home issued passwords', () => {
  async function reload({ provisioned = false, user = there } = {}) {
    const { client, storage } = await buildConnectedClient()
    expect(client.connections.find(remote)?.ownPassword).to.equal(false)
    client.close()
    const built = buildClient(storage)
    const issued = issueAt(built, { provisioned })
    const account = accountAt(built, 'home password')
    built.network.answer(`GET ${home}/api/users/@me`, { body: listed })
    built.network.answer(meThere, { body: user })
    const load = async () => {
      await built.client.session.loadUser()
      await built.clock.advance(0)
    }
    return { ...built, storage, built, issued, account, load }
  }

  it('is given the issued one at its start, once, with a new token', async () => {
    const { client, network, storage, issued, account, load, built } = await reload()
    await load()

    expect(network.sentTo(change)[0]).to.deep.include({ json: { newPassword: 'secret of b' }, token: 'remote-token' })
    expect([account.password, issued.provisioned]).to.deep.equal(['secret of b', true])
    expect(client.connections.find(remote)).to.include({ token: 'changed', ownPassword: true, state: 'connected' })

    client.close()
    const again = buildClient(storage)
    again.network.answer(`GET ${home}/api/users/@me`, { body: listed })
    again.network.answer(meThere, { body: there })
    await again.client.session.loadUser()
    await again.clock.advance(0)
    expect(again.client.connections.find(remote)).to.include({ token: 'changed', ownPassword: true })
    expect(again.network.sentTo(issuing)).to.have.length(0)
    expect(passwordsSentElsewhere(built)).to.deep.equal(['secret of b'])
  })

  it('is left as it is where another client has done so, or where the account there is not of this home', async () => {
    const own = await reload({ provisioned: true })
    await own.load()
    expect(own.client.connections.find(remote)).to.include({ token: 'remote-token', ownPassword: true })

    const foreign = await reload({ user: { ...there, homeUserId: '2' } })
    await foreign.load()
    expect(foreign.client.connections.find(remote)).to.include({ token: 'remote-token', ownPassword: false })
    for (const { network } of [own, foreign]) expect(network.sentTo(change)).to.have.length(0)
  })

  it('is tried again at the next start when it failed', async () => {
    const { client, network, load } = await reload()
    network.answer(change, refusal(503))
    await load()

    expect(client.connections.find(remote)).to.include({ token: 'remote-token', ownPassword: false })
    expect(network.sentTo(issuing).map(({ json }) => json)).to.deep.equal([{ origin: remote }])
  })
})

/** Contract: 3, federation-credential. */
describe('Client session behaviour: password propagation beside issued passwords', () => {
  it('sends a new password to accounts without one of their own only', async () => {
    const other = 'https://c.example'
    const built = await buildConnectedClient([remote, other])
    const { client, clock, network } = built
    issueAt(built)
    accountAt(built, 'password at b')
    network.answer(verify, { body: { valid: true } })
    network.answer(`PATCH ${home}/api/users/@me`, ({ json }) => ({ body: buildUser(json) }))
    await client.connections.connect(remote, 'home password', { remotePassword: 'password at b' })
    network.sent.length = 0

    network.answer(`POST ${home}/api/users/@me/change-password`, { body: { token: 'fresh' } })
    network.answer(`POST ${other}/api/users/@me/change-password`, { body: { token: 'other-fresh' } })
    await client.changePassword({ currentPassword: 'home password', newPassword: 'new password' })
    await clock.advance(0)

    const changed = network.sent
      .filter(({ url }) => url.endsWith('/change-password'))
      .map(({ url }) => new URL(url).origin)
    expect(changed).to.deep.equal([home, other])
  })

  it('stops sending it to an account that gets one of its own meanwhile', async () => {
    const built = await buildConnectedClient()
    const { client, clock, network } = built
    network.answer(change, 'down')
    void client.passwordPropagation.propagate('new password')
    await clock.advance(14_000)
    issueAt(built)
    const account = accountAt(built, 'password at b')
    network.answer(verify, { body: { valid: true } })
    network.answer(`PATCH ${home}/api/users/@me`, ({ json }) => ({ body: buildUser(json) }))
    await client.connections.connect(remote, 'home password', { remotePassword: 'password at b' })
    await clock.advance(10_000_000)

    expect(account.password).to.equal('secret of b')
    expect(client.connections.find(remote)).to.include({ passwordSync: 'idle', pendingPasswordSync: false })
  })
})
