import { expect } from 'chai'
import { eventually } from '@gatehouse/test-kit'
import { connect, signIn } from './client.ts'
import { buildUser, openWorld, statusOf, tokenFor, type Node, type World } from './harness.ts'

describe('WebSocket handshake', () => {
  let world: World
  let node: Node

  before(async () => {
    world = await openWorld()
    node = await world.startNode()
  })
  after(() => world[Symbol.asyncDispose]())

  it('WebSocket handshake 4: a token makes its user online and gets everything that ready holds', async () => {
    const user = await buildUser(world)

    const { ready, socket } = await signIn(node.url, user.token)

    expect(ready).to.include.keys('sessionId', 'serverTime', 'instance')
    expect(ready.user).to.include({ id: user.id, username: user.username, status: 'online', showActivity: true })
    expect(ready.presences).to.deep.equal({ [user.id]: 'online' })
    expect(ready.instance).to.have.keys('name', 'instanceId', 'version')
    for (const list of ['spaces', 'dmChannels', 'folders', 'readStates', 'activeCalls']) {
      expect(ready[list], list).to.deep.equal([])
    }
    for (const map of ['voiceStates', 'voiceUserStates', 'spaceVoiceStates', 'userActivities']) {
      expect(ready[map], map).to.deep.equal({})
    }
    expect(await statusOf(world, user)).to.equal('online')
    socket.terminate()
  })

  it('WebSocket handshake 1: a socket that stays silent is closed with 4001', async () => {
    const impatient = await world.startNode({ authTimeoutMs: 100 })
    const client = await connect(impatient.url)

    expect(await client.closed).to.deep.equal({ code: 4001, reason: 'Authentication timeout' })
    expect(client.messages).to.deep.equal([{ type: 'error', message: 'Authentication timeout' }])
  })

  for (const [what, frame] of [
    ['another type', '{"type":"ping"}'],
    ['no JSON', 'hello'],
    ['no object', '5'],
    ['no token', '{"type":"auth"}'],
    ['a binary frame', Buffer.from('{"type":"auth","token":"x"}')],
  ] as const) {
    it(`WebSocket handshake 2: a first message that is ${what} is closed with 4002`, async () => {
      const client = await connect(node.url)

      client.socket.send(frame)

      expect(await client.closed).to.deep.equal({ code: 4002, reason: 'First message must be auth' })
      expect(client.messages).to.deep.equal([{ type: 'error', message: 'First message must be auth' }])
    })
  }

  it('WebSocket handshake 2: a second message before ready is closed with 4002', async () => {
    const user = await buildUser(world)
    const client = await connect(node.url)

    client.sendTogether({ type: 'auth', token: user.token }, { type: 'ping' })

    expect((await client.closed).code).to.equal(4002)
    await eventually('the user is offline', async () => (await statusOf(world, user)) === 'offline')
  })

  it('a first message over 4 KiB, or any over 16 KiB in one frame or many, is closed with 1009', async () => {
    const large = await connect(node.url)
    const huge = await connect(node.url)
    const fragmented = await connect(node.url)

    large.send({ type: 'auth', token: 'x'.repeat(5_000) })
    huge.send({ type: 'auth', token: 'x'.repeat(20_000) })
    for (let part = 0; part < 3; part += 1) fragmented.socket.send('x'.repeat(7_000), { fin: false })

    expect((await large.closed).code).to.equal(1009)
    expect((await huge.closed).code).to.equal(1009)
    expect((await fragmented.closed).code).to.equal(1009)
  })

  it('WebSocket handshake 5: a forged, an expired and an unknown user token get the error, then the close with 4003', async () => {
    const user = await buildUser(world)
    const forged = `${user.token.slice(0, -3)}abc`
    const expired = tokenFor(user, Date.now() - 7_200_000)
    const unknown = tokenFor({ id: '1', username: 'nobody' })

    for (const token of [forged, expired, unknown]) {
      const client = await connect(node.url)
      client.send({ type: 'auth', token })
      expect(await client.closed).to.deep.equal({ code: 4003, reason: 'Invalid token' })
      expect(client.messages).to.deep.equal([{ type: 'error', message: 'Invalid token' }])
    }
  })

  it('WebSocket handshake 3: a token older than the password is closed with 4004, one of the same second passes', async () => {
    const changedAt = Date.now()
    const user = await buildUser(world)
    await world.sql('update users set password_changed_at = ? where id = ?', [changedAt, user.id])

    const older = await connect(node.url)
    older.send({ type: 'auth', token: tokenFor(user, changedAt - 1_000) })
    const same = await signIn(node.url, tokenFor(user, changedAt))

    expect(await older.closed).to.deep.equal({ code: 4004, reason: 'Token has been revoked' })
    expect(same.ready.type).to.equal('ready')
  })

  it('WebSocket handshake 3: a deleted account is closed with 4005 and never becomes online', async () => {
    const user = await buildUser(world)
    await world.sql('update users set is_deleted = true where id = ?', [user.id])
    const client = await connect(node.url)

    client.send({ type: 'auth', token: user.token })

    expect(await client.closed).to.deep.equal({ code: 4005, reason: 'This account has been deleted' })
    expect(await statusOf(world, user)).to.equal('offline')
  })

  it('allows 100 unauthenticated sockets for an address, and counts neither others nor the authenticated', async () => {
    const address = '198.51.100.7'
    const clients = await Promise.all(Array.from({ length: 100 }, () => connect(node.url, { address })))

    const refused = await connect(node.url, { address }).catch((error: Error) => error.message)
    const other = await connect(node.url, { address: '198.51.100.8' })
    const user = await buildUser(world)
    clients[0]!.send({ type: 'auth', token: user.token })
    await clients[0]!.take('ready')
    const again = await connect(node.url, { address })

    expect(refused).to.equal('refused: 429')
    for (const client of [...clients, other, again]) client.socket.terminate()
    await eventually('all places are free again', async () => {
      const { text } = await node.ports.metrics.render()
      return text.includes('gatehouse_sockets_unauthenticated 0')
    })
  })

  it('refuses an upgrade that did not come through the gateway, and other paths', async () => {
    const direct = await connect(node.url, { headers: { 'x-gatehouse-caller': 'forged.mac' } }).catch(String)
    const elsewhere = await connect(`${node.url}/other`).catch(String)

    expect(direct).to.include('403')
    expect(elsewhere).to.include('404')
  })

  it('admits a user whose account another transaction holds as soon as that ends', async () => {
    const user = await buildUser(world)
    const others = await buildUser(world)
    const em = world.orm.em.fork()
    await em.begin()
    await em.execute('select 1 from users where id = ? for update', [user.id])

    const held = signIn(node.url, user.token)
    const free = await signIn(node.url, others.token)
    await em.commit()

    expect(free.ready.type).to.equal('ready')
    expect((await held).ready.type).to.equal('ready')
  })
})
