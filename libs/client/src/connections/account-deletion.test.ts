import { expect } from 'chai'
import { buildUser } from '../../test/builders.ts'
import { buildConnectedClient, home, remote } from '../../test/harness.ts'

const other = 'https://c.example'
const credentials = { username: 'alice', password: 'right password' }
const deletionAt = (origin: string) => `DELETE ${origin}/api/users/@me`
const verify = `POST ${home}/api/users/@me/verify-password`

async function buildDeletableClient() {
  const built = await buildConnectedClient([remote, other])
  built.network.answer(verify, { body: { valid: true } })
  for (const origin of [home, remote, other]) built.network.answer(deletionAt(origin), { body: { success: true } })
  return built
}

describe('Client session behaviour: deletion propagation', () => {
  it('calls delete on each connected remote before home, with an empty password and the name there', async () => {
    const { client, network } = await buildDeletableClient()

    const outcome = await client.deleteAccount(credentials)

    const deletions = network.sent.filter(({ method }) => method === 'DELETE')
    expect(deletions.map(({ url }) => url)).to.have.members([home, remote, other].map((at) => `${at}/api/users/@me`))
    expect(deletions.at(-1)?.url).to.equal(`${home}/api/users/@me`)
    expect(network.sentTo(deletionAt(remote))[0]).to.deep.include({
      json: { username: 'alice@home.example', password: '' },
      token: 'remote-token',
    })
    expect(outcome).to.deep.equal({
      deleted: true,
      remotes: { [remote]: { success: true }, [other]: { success: true } },
    })
    expect(client.session.getSnapshot()).to.deep.include({ token: null, user: null })
    expect(client.session.getSnapshot().ended?.reason).to.equal('account_deleted')
  })

  it('collects failures as per-instance results that do not block the home deletion', async () => {
    const { client, network } = await buildDeletableClient()
    const ownedSpaces = [{ id: '5', name: 'Garden' }]
    network.answer(deletionAt(remote), { status: 400, body: { error: 'You own spaces', statusCode: 400, ownedSpaces } })
    network.answer(deletionAt(other), 'down')

    const outcome = await client.deleteAccount(credentials)

    expect(outcome).to.deep.equal({
      deleted: true,
      remotes: {
        [remote]: { success: false, error: 'You own spaces', ownedSpaces },
        [other]: { success: false, error: `${other} could not be reached` },
      },
    })
  })

  it('orders at home what could not be deleted, before the account goes, and tells what waits', async () => {
    const { client, network } = await buildDeletableClient()
    const ownedSpaces = [{ id: '5', name: 'Garden' }]
    const waiting = { success: false, error: 'timeout', order: 'waiting' } as const
    network.answer(deletionAt(remote), { status: 400, body: { error: 'You own spaces', statusCode: 400, ownedSpaces } })
    network.answer(deletionAt(other), 'down')
    const order = `POST ${home}/api/users/@me/federation-identity/delete`
    network.answer(order, { body: { results: { [other]: waiting } } })

    const outcome = await client.deleteAccount(credentials)

    expect(network.sentTo(order)[0]?.json).to.deep.equal({ origins: [other], mode: 'full', durable: true })
    expect(network.sent.map(({ method, url }) => `${method} ${url}`).slice(-2)).to.deep.equal([order, deletionAt(home)])
    expect(outcome.remotes[other]).to.deep.equal(waiting)
    expect(outcome.remotes[remote]).to.deep.include({ ownedSpaces })
  })

  it('says of an instance whose token vanished on the way, and of one not connected, that nothing was deleted', async () => {
    const { client, network } = await buildDeletableClient()
    client.connections.disconnect(other)
    network.answer(verify, () => {
      client.connections.disconnect(remote)
      return { body: { valid: true } }
    })

    const outcome = await client.deleteAccount(credentials)

    expect(outcome).to.deep.equal({
      deleted: true,
      remotes: {
        [remote]: { success: false, error: 'not_connected' },
        [other]: { success: false, error: 'not_connected' },
      },
    })
    expect(
      network.sent.filter(({ method }) => method === 'DELETE').map(({ url }) => new URL(url).origin),
    ).to.deep.equal([home])
  })

  it('orders nothing at home for instances that are not connected: the password was not judged yet', async () => {
    const { client, network } = await buildDeletableClient()
    for (const origin of [remote, other]) client.connections.disconnect(origin)
    network.answer(deletionAt(home), { status: 403, body: { error: 'Incorrect password', statusCode: 403 } })

    const outcome = await client.deleteAccount(credentials)

    expect(outcome).to.deep.include({ deleted: false })
    expect(network.sentTo(`POST ${home}/api/users/@me/federation-identity/delete`)).to.have.length(0)
  })

  it('keeps the session, the reason and the results when the home instance refuses', async () => {
    const { client, network } = await buildDeletableClient()
    const ownedSpaces = [{ id: '5', name: 'Garden' }]
    network.answer(deletionAt(home), { status: 400, body: { error: 'You own spaces', statusCode: 400, ownedSpaces } })
    network.answer(deletionAt(other), 'down')
    network.answer(`PATCH ${home}/api/users/@me`, ({ json }) => ({ body: buildUser(json) }))

    const outcome = await client.deleteAccount(credentials)

    expect(outcome).to.deep.include({ deleted: false })
    expect(outcome.remotes[remote]).to.deep.equal({ success: true })
    expect(client.session.getSnapshot().user?.replicatedInstances.map(({ origin }) => origin)).to.deep.equal([other])
    expect(client.connections.find(remote)).to.equal(null)
  })

  it('deletes nothing on any instance when the name or the password is wrong', async () => {
    const { client, network } = await buildDeletableClient()
    const wrongName = await client.deleteAccount({ ...credentials, username: 'bob' }).catch((error: unknown) => error)
    network.answer(verify, { body: { valid: false } })
    const wrongPassword = await client.deleteAccount(credentials).catch((error: unknown) => error)

    expect(wrongName).to.include({ status: 400 })
    expect(wrongPassword).to.include({ status: 403, message: 'Incorrect password' })
    expect(network.sent.filter(({ method }) => method === 'DELETE')).to.have.length(0)
  })

  it('deletes nothing on any instance when the ticket in place of the password is refused', async () => {
    const { client, network } = await buildDeletableClient()
    const { username } = credentials
    const code = 'ticket_refused'
    network.answer(verify, { status: 403, body: { error: 'used', statusCode: 403, code } })
    const refused = await client.deleteAccount({ username, ticket: 't1' }).catch((error: unknown) => error)
    const before = network.sent.filter(({ method }) => method === 'DELETE')
    network.answer(verify, { body: { valid: true } })

    const outcome = await client.deleteAccount({ username, ticket: 't2' })

    expect(refused).to.include({ status: 403, code })
    expect(before).to.deep.equal([])
    expect(network.sentTo(verify).map(({ json }) => (json as { ticket: string }).ticket)).to.deep.equal(['t1', 't2'])
    expect(network.sentTo(deletionAt(home))[0]?.json).to.deep.equal({ username, ticket: 't2' })
    expect(outcome.deleted).to.equal(true)
  })
})

describe('federation identity deletion', () => {
  it('calls the home instance and removes the successful origins from the list', async () => {
    const { client, network } = await buildDeletableClient()
    const results = { [remote]: { success: true }, [other]: { success: false, error: 'timeout' } }
    const call = `POST ${home}/api/users/@me/federation-identity/delete`
    network.answer(call, { body: { results } })

    expect(await client.deleteFederationIdentities({ origins: [remote, other], mode: 'soft' })).to.deep.equal(results)

    expect(network.sentTo(call)[0]?.json).to.deep.equal({ origins: [remote, other], mode: 'soft' })
    expect(client.connections.getSnapshot().map(({ origin }) => origin)).to.deep.equal([other])
    expect(client.session.getSnapshot().user?.replicatedInstances.map(({ origin }) => origin)).to.deep.equal([other])
  })
})
