import { expect } from 'chai'
import { buildToken, buildUser } from '../../test/builders.ts'
import { buildClient, buildConnectedClient, home, remote } from '../../test/harness.ts'
import { readStoredRemotes } from './remotes.ts'

const other = 'https://c.example'
const verify = `POST ${home}/api/users/@me/verify-password`
const change = (origin: string) => `POST ${origin}/api/users/@me/change-password`

describe('Client session behaviour: password propagation', () => {
  it('sends the new password to every connected remote instance after a change on the home instance', async () => {
    const { client, clock, network } = await buildConnectedClient([remote, other])
    network.answer(change(home), { body: { token: 'fresh' } })
    network.answer(change(remote), { body: { token: 'remote-fresh' } })
    network.answer(change(other), { body: { token: 'other-fresh' } })

    await client.changePassword({ currentPassword: 'old password', newPassword: 'new password' })
    await clock.advance(0)

    expect(client.session.getSnapshot().token).to.equal('fresh')
    for (const origin of [remote, other]) {
      expect(network.sentTo(change(origin)).map(({ json }) => json)).to.deep.equal([{ newPassword: 'new password' }])
    }
  })

  it('is not started by an instance that is not the home of the user', async () => {
    const { client, clock, network } = await buildConnectedClient()
    client.session.setUser({ ...buildUser(), homeInstance: 'elsewhere.example' })
    network.answer(change(home), { body: { token: 'fresh' } })

    await client.changePassword({ newPassword: 'new password' })
    await clock.advance(0)

    expect(network.sentTo(change(remote))).to.have.length(0)
  })

  it('retries each call 3 times with exponential backoff starting at 2000 ms', async () => {
    const { client, clock, network } = await buildConnectedClient()
    const began = clock.now()
    const at: number[] = []
    network.answer(change(remote), () => (at.push(clock.now() - began), 'down'))

    let firstHaveEnded = false
    void client.passwordPropagation.propagate('new password').then(() => (firstHaveEnded = true))
    await clock.advance(13_999)
    expect(firstHaveEnded).to.equal(false)
    expect(client.connections.find(remote)?.passwordSync).to.equal('sending')
    await clock.advance(1)

    expect(at).to.deep.equal([0, 2_000, 6_000, 14_000])
    expect(firstHaveEnded).to.equal(true)
    expect(client.connections.find(remote)?.passwordSync).to.equal('retrying')
  })

  it('on success updates the cached token for that instance and clears its pending flag', async () => {
    const { client, clock, storage, network } = await buildConnectedClient()
    network.answer(change(remote), 'down')
    void client.passwordPropagation.propagate('new password')
    await clock.advance(4_000_000)
    expect(client.connections.find(remote)?.pendingPasswordSync).to.equal(true)

    network.answer(change(remote), { body: { token: 'remote-fresh' } })
    network.answer(verify, { body: { valid: true } })
    await client.passwordPropagation.resend(remote, 'new password')

    const expected = { token: 'remote-fresh', pendingPasswordSync: false }
    expect(client.connections.find(remote)).to.include({ ...expected, passwordSync: 'idle' })
    expect(readStoredRemotes(storage, '1')[0]).to.include(expected)
  })

  it('sends a password again only once the own instance has verified it', async () => {
    const { client, network } = await buildConnectedClient()
    network.answer(verify, { body: { valid: false } })

    const refusal = await client.passwordPropagation.resend(remote, 'mistyped').catch((error: unknown) => error)

    expect(refusal).to.include({ status: 403, message: 'Incorrect password' })
    expect(network.sentTo(verify)[0]?.json).to.deep.equal({ password: 'mistyped' })
    expect(network.sentTo(change(remote))).to.have.length(0)
  })

  it('retries in the background 10 times at 30-second, then 12 at 5-minute intervals, then sets the flag', async () => {
    const { client, clock, network } = await buildConnectedClient()
    const at: number[] = []
    network.answer(change(remote), () => (at.push(clock.now()), { status: 503, body: { error: 'down' } }))
    void client.passwordPropagation.propagate('new password')
    await clock.advance(14_000 + 10 * 30_000 + 12 * 300_000 - 1)
    expect(client.connections.find(remote)).to.include({ passwordSync: 'retrying', pendingPasswordSync: false })
    await clock.advance(1)

    const gaps = at.slice(1).map((time, index) => time - (at[index] ?? 0))
    const expected = [2_000, 4_000, 8_000, ...Array<number>(10).fill(30_000), ...Array<number>(12).fill(300_000)]
    expect(gaps).to.deep.equal(expected)
    expect(client.connections.find(remote)).to.include({ passwordSync: 'idle', pendingPasswordSync: true })
    await clock.advance(10_000_000)
    expect(at).to.have.length(26)
  })

  it('ends the background retry with its first success', async () => {
    const { client, clock, network } = await buildConnectedClient()
    network.answer(change(remote), 'down')
    void client.passwordPropagation.propagate('new password')
    await clock.advance(14_000)

    network.answer(change(remote), { body: { token: 'remote-fresh' } })
    await clock.advance(30_000)
    await clock.advance(10_000_000)

    expect(network.sentTo(change(remote))).to.have.length(5)
    expect(client.connections.find(remote)).to.include({ token: 'remote-fresh', passwordSync: 'idle' })
  })

  it('looks up the current instance each time and uses its token at that time', async () => {
    const { client, clock, network } = await buildConnectedClient()
    network.answer(change(remote), 'down')
    network.answer(`POST ${home}/api/users/@me/verify-password`, { body: { valid: true } })
    network.answer(`PATCH ${home}/api/users/@me`, { body: buildUser() })
    network.answer(`POST ${remote}/api/auth/register`, { status: 201, body: { token: 'newer', user: buildUser() } })
    void client.passwordPropagation.propagate('new password')
    await clock.advance(14_000)

    await client.connections.connect(remote, 'new password')
    await clock.advance(30_000)

    expect(network.sentTo(change(remote)).map(({ token }) => token)).to.deep.equal([
      ...Array<string>(4).fill('remote-token'),
      'newer',
    ])
  })

  for (const act of ['disconnect', 'remove'] as const) {
    it(`stops if the instance is gone: ${act}`, async () => {
      const { client, clock, network } = await buildConnectedClient()
      network.answer(change(remote), 'down')
      network.answer(`PATCH ${home}/api/users/@me`, { body: buildUser() })
      void client.passwordPropagation.propagate('new password')
      await clock.advance(14_000)

      await client.connections[act](remote)
      await clock.advance(10_000_000)

      expect(network.sentTo(change(remote))).to.have.length(4)
    })
  }

  it('a new password change cancels existing retry loops for the affected origins', async () => {
    const { client, clock, network } = await buildConnectedClient()
    network.answer(change(remote), 'down')
    void client.passwordPropagation.propagate('second password')
    await clock.advance(14_000)

    void client.passwordPropagation.propagate('third password')
    await clock.advance(4_000_000)

    const passwords = network.sentTo(change(remote)).map(({ json }) => json['newPassword'])
    expect(passwords).to.deep.equal([
      ...Array<string>(4).fill('second password'),
      ...Array<string>(26).fill('third password'),
    ])
  })

  it('waits for the call of an earlier change, whose response carries the valid token', async () => {
    const { client, clock, network } = await buildConnectedClient()
    let answerNow = () => {}
    network.answer(
      change(remote),
      () => new Promise((resolve) => (answerNow = () => resolve({ body: { token: 'second' } }))),
    )
    void client.passwordPropagation.propagate('second password')
    await clock.advance(0)
    network.answer(change(remote), { body: { token: 'third' } })
    // It was sent before this answer was set, so it still waits for its own.
    void client.passwordPropagation.propagate('third password')
    await clock.advance(0)
    expect(network.sentTo(change(remote))).to.have.length(1)

    answerNow()
    await clock.advance(0)

    expect(network.sentTo(change(remote)).map(({ token }) => token)).to.deep.equal(['remote-token', 'second'])
    expect(client.connections.find(remote)).to.include({ token: 'third', passwordSync: 'idle' })
  })

  it('aborts the running call on logout', async () => {
    const { client, clock, network } = await buildConnectedClient()
    network.answer(change(remote), 'hang')
    void client.passwordPropagation.propagate('new password')
    await clock.advance(0)

    client.logOut()

    expect(network.sentTo(change(remote)).map(({ aborted }) => aborted)).to.deep.equal([true])
  })

  it('logs in with the new password where the old token was revoked', async () => {
    const { client, clock, network } = await buildConnectedClient()
    network.answer(change(remote), { status: 401, body: { error: 'Token has been revoked' } })
    network.answer(`POST ${remote}/api/auth/login`, { body: { token: 'by-login', user: buildUser() } })

    void client.passwordPropagation.propagate('new password')
    await clock.advance(0)

    expect(client.connections.find(remote)).to.include({ token: 'by-login', state: 'connected', passwordSync: 'idle' })
  })

  it('is pending after a reload when the page was closed before it succeeded', async () => {
    const { client, clock, storage, network } = await buildConnectedClient()
    network.answer(change(remote), 'down')
    void client.passwordPropagation.propagate('new password')
    await clock.advance(2_000)
    client.close()

    const reopened = buildClient(storage)
    const replicatedInstances = [{ origin: remote, username: 'alice@home.example' }]
    reopened.network.answer(`GET ${home}/api/users/@me`, { body: buildUser({ replicatedInstances }) })
    reopened.network.answer(`GET ${remote}/api/users/@me`, { body: buildUser({ id: '77' }) })
    await reopened.client.session.loadUser()
    await reopened.clock.advance(0)

    expect(reopened.client.session.getSnapshot().token).to.equal(buildToken())
    expect(reopened.client.connections.find(remote)).to.include({ state: 'connected', pendingPasswordSync: true })
    expect([...storage.values.values()].join()).not.to.include('new password')
  })
})
