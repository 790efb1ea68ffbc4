import { expect } from 'chai'
import { joinPeers, openNetwork, send, sentBy } from './network.ts'
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

async function logIn(peer: ReferencePeer, username: string, password: string): Promise<number> {
  return (await send(peer, { path: '/api/auth/login', body: { username, password } })).status
}

describe('lookups (wire: 4)', () => {
  it('answers nobody in two ways, and reads what it is answered', async () => {
    await using network = openNetwork()
    const { gate, nova } = await startHomes(network)
    const path = '/api/federation/users/lookup'

    const results = [
      await gate.lookUpByName(nova.origin, 'erin@gate.example'),
      await gate.lookUpByHomeId(nova.origin, '7'),
    ]
    for (const status of [429, 403]) nova.addFault({ path, answer: { status, body: {} } })
    results.push(await gate.lookUpByName(nova.origin, 'x'), await gate.lookUpByName(nova.origin, 'x'))

    expect(nova.log.slice(0, 2).map(({ status, answer }) => [status, answer])).to.deep.equal([
      [404, '{"found":false,"code":"user_not_found"}'],
      [200, '{"found":false}'],
    ])
    expect(results).to.deep.equal(['no_such_user', 'no_such_user', 'wait', 'unreachable'])
  })
})

describe('login repair (wire: 4)', () => {
  it('asks the home with the base name, and keeps the password', async () => {
    await using network = openNetwork()
    const { gate, nova, erin, replica } = await startHomes(network)
    erin.password = 'a new password'

    const statuses = [
      await logIn(nova, 'erin@gate.example', 'wrong'),
      await logIn(nova, 'erin@gate.example', 'a new password'),
    ]

    expect(statuses).to.deep.equal([401, 200])
    expect(replica.password).to.equal('a new password')
    expect(gate.log[0]?.body).to.equal('{"username":"erin","password":"wrong"}')
    expect(sentBy(nova)).to.deep.equal(['auth/login 401', 'auth/login 200', 'federation/epoch 200'])
  })

  it('ends when the home is another instance now, or has revoked the peer', async () => {
    await using network = openNetwork()
    const { gate, nova, erin } = await startHomes(network)
    erin.password = 'a new password'
    const secret = nova.peer(gate.origin)?.secret ?? ''

    nova.addPeer(gate.origin, { status: 'active', secret, instanceId: 'another' })
    const another = await logIn(nova, 'erin@gate.example', 'a new password')
    nova.addPeer(gate.origin, { status: 'active', secret, instanceId: gate.instanceId() })
    gate.revoke(nova.origin)
    const revoked = await logIn(nova, 'erin@gate.example', 'a new password')

    expect([another, revoked]).to.deep.equal([401, 401])
  })

  it('asks for no proof where the home is no peer, and nothing at all for detached accounts and stubs', async () => {
    await using network = openNetwork()
    const { gate, nova, erin, replica } = await startHomes(network)
    nova.findOrMakeStub({ homeUserId: '8', homeInstance: 'gate.example' })
    nova.revoke(gate.origin)
    nova.forget(gate.origin)
    erin.password = 'a new password'

    const repaired = await logIn(nova, 'erin@gate.example', 'a new password')
    replica.detached = true
    const detached = await logIn(nova, 'erin@gate.example', 'the password')
    const stub = await logIn(nova, '8@gate.example', 'the password')

    expect([repaired, detached, stub]).to.deep.equal([200, 401, 401])
    expect(sentBy(nova)).to.deep.equal(['auth/login 200'])
  })
})

describe('federated registration (wire: 4)', () => {
  const path = '/api/auth/register'
  const body = { username: 'erin@gate.example', password: 'the password', ...gateHome }

  it('makes an account, then says that it is taken; a stub becomes one', async () => {
    await using network = openNetwork()
    const nova = await network.start('nova.example')
    const stub = nova.findOrMakeStub({ homeUserId: '8', homeInstance: 'gate.example' })

    const made = await send(nova, { path, body })
    const again = await send(nova, { path, body })
    const upgraded = await send(nova, { path, body: { ...body, username: 'zoe@gate.example', homeUserId: '8' } })
    nova.settings.federatedRegistrationOpen = false
    const closed = await send(nova, { path, body })

    expect([made, again, upgraded, closed].map(({ status }) => status)).to.deep.equal([201, 409, 200, 403])
    expect(again.body.error).to.include('already taken')
    expect(stub).to.include({ username: 'zoe@gate.example', password: 'the password' })
  })

  it('takes a deleted identity again', async () => {
    await using network = openNetwork()
    const { gate, nova, erin } = await startHomes(network)
    await gate.deleteIdentities(erin, [nova.origin], 'full')

    const again = await send(nova, { path, body })

    expect(again.status).to.equal(201)
  })
})
