import { expect } from 'chai'
import { joinPeers, latch, openNetwork, sendSigned } from './network.ts'
import type { ReferencePeer } from './reference-peer.ts'

const gateHome = { homeInstance: 'gate.example', homeUserId: '7' }

/** Gate with erin (id 7), nova with her replica. */
async function startHomes(network: ReturnType<typeof openNetwork>) {
  const [gate, nova] = [await network.start('gate.example'), await network.start('nova.example')]
  joinPeers(gate, nova)
  const erin = gate.addUser({ id: '7', username: 'erin', password: 'the password' })
  const replica = nova.addUser({ username: 'erin@gate.example', password: 'the password', ...gateHome })
  return { gate, nova, erin, replica }
}

describe('deletion of identities (wire: 3)', () => {
  const good = { homeUserId: '7', homeInstance: 'gate.example', mode: 'soft' }
  const ask = (nova: ReferencePeer, origin: string, body: object) =>
    sendSigned(nova, 'identity', { origin, method: 'DELETE', body: { ...good, ...body } })

  it('does nothing to a detached account', async () => {
    await using network = openNetwork()
    const { gate, nova, replica } = await startHomes(network)
    replica.detached = true

    const answer = await ask(nova, gate.origin, {})

    expect([answer.status, replica.deleted]).to.deep.equal([200, false])
  })

  it('refuses what is missing, other modes, the users of others, and users without a home', async () => {
    await using network = openNetwork()
    const { gate, nova } = await startHomes(network)
    nova.addUser({ username: 'zoe@else.example', password: 'p', homeInstance: 'else.example', homeUserId: '8' })
    nova.addUser({ username: 'native', password: 'p', homeUserId: '9' })
    const status = async (body: object) => (await ask(nova, gate.origin, body)).status

    const statuses = [await status({ homeInstance: undefined }), await status({ mode: 'leave' })]
    statuses.push(await status({ homeUserId: '8' }), await status({ homeUserId: '9' }))
    statuses.push(await status({ homeInstance: 'whatever.example' }))

    expect(statuses).to.deep.equal([400, 400, 403, 403, 200])
  })

  it('is sent to each origin, with the results of the page', async () => {
    await using network = openNetwork()
    const { gate, nova, erin, replica } = await startHomes(network)
    replica.ownedSpaces.push({ id: '1', name: 'Space' })
    const origins = ['a', 'b', 'c'].map((name) => `https://${name}.example`)
    for (const name of ['a', 'b', 'c']) joinPeers(gate, await network.start(`${name}.example`))
    network.resolve.set('https://b.example', 'http://127.0.0.1:1')
    network.resolve.set('https://c.example', nova.address)
    const named = origins.map((origin) => ({ origin, username: 'erin' }))
    Object.assign(erin, { replicatedInstances: named, registry: named })

    const results = await gate.deleteIdentities(erin, [nova.origin, 'https://none.example', ...origins], 'full')

    expect(results[nova.origin]).to.deep.include({ error: 'owns_spaces', ownedSpaces: [{ id: '1', name: 'Space' }] })
    expect(results['https://none.example']).to.deep.equal({ success: false, error: 'no_active_peer' })
    expect(results['https://a.example']).to.deep.equal({ success: true })
    expect(results['https://b.example']).to.deep.equal({ success: false, error: 'unreachable' })
    expect(results['https://c.example']).to.deep.include({ success: false })
    expect(erin.replicatedInstances.map(({ origin }) => origin)).to.deep.equal(origins.slice(1))
    expect(erin.registryUpdatedAt).to.be.greaterThan(0)
  })

  it('reads any 2xx with JSON as a success, and other bodies as unreachable', async () => {
    await using network = openNetwork()
    const { gate, nova, erin } = await startHomes(network)
    const path = '/api/federation/identity'
    const deleteNow = async () => (await gate.deleteIdentities(erin, [nova.origin], 'soft'))[nova.origin]
    nova.addFault({ path, answer: { status: 204, body: '' } })
    nova.addFault({ path, answer: { status: 202, body: [] } })
    nova.addFault({ path, answer: { status: 400, body: { error: 'No' } } })

    const results = [await deleteNow(), await deleteNow(), await deleteNow()]

    expect(results).to.deep.equal([
      { success: false, error: 'unreachable' },
      { success: true },
      { success: false, error: 'No' },
    ])
  })

  it('waits for a slow one as long as its timeout', async () => {
    await using network = openNetwork()
    const gate = await network.start('gate.example', { timeoutsMs: { deletion: 20 } })
    const nova = await network.start('nova.example')
    joinPeers(gate, nova)
    const held = latch()
    nova.addFault({ path: '/api/federation/identity', before: () => held.opened })

    const results = await gate.deleteIdentities(gate.addUser({ username: 'erin' }), [nova.origin], 'soft')
    held.open()

    expect(results[nova.origin]).to.deep.equal({ success: false, error: 'timeout' })
  })
})
