import type { Socket } from 'node:net'
import { expect } from 'chai'
import { presenceChanged } from '@gatehouse/contracts'
import { eventually } from '@gatehouse/test-kit'
import { signIn, type Client } from './client.ts'
import { befriend, buildUser, openWorld, statusOf, type Node, type World } from './harness.ts'

describe('messages after ready', () => {
  let world: World
  let node: Node

  before(async () => {
    world = await openWorld()
    node = await world.startNode()
  })
  after(() => world[Symbol.asyncDispose]())

  const signInNew = async (url = node.url) => signIn(url, (await buildUser(world)).token)

  it('answers ping with pong, however many', async () => {
    const client = await signInNew()

    client.sendTogether(...Array.from({ length: 100 }, () => ({ type: 'ping' })))

    await eventually('100 pongs', () => client.messages.filter(({ type }) => type === 'pong').length === 100)
    expect(client.messages).to.have.length(100)
    client.socket.terminate()
  })

  it('answers what is no JSON with an error, and unknown types not at all', async () => {
    const client = await signInNew()

    client.socket.send('{"type":')
    client.send({ type: 'wave' })
    client.send(['ping'])
    client.socket.send(Buffer.from('{"type":"ping"}'))
    client.send({ type: 'ping' })

    await client.take('pong')
    const invalid = { type: 'error', message: 'Invalid JSON' }
    expect(client.messages).to.deep.equal([invalid, invalid])
    client.socket.terminate()
  })

  it('lets a user say 30 things at once over all their sockets, then refuses, but never a ping', async () => {
    const user = await buildUser(world)
    const one = await signIn(node.url, user.token)
    const other = await signIn(node.url, user.token)

    one.sendTogether(...Array.from({ length: 30 }, () => ({ type: 'wave' })), { type: 'ping' })
    await one.take('pong')
    other.sendTogether(...Array.from({ length: 9 }, () => ({ type: 'wave' })), { type: 'ping' })
    await other.take('pong')

    expect(one.messages).to.deep.equal([])
    const refusals = other.messages.filter(({ message }) => message === 'Rate limited')
    expect(refusals).to.have.length.within(5, 9)
    expect(other.messages).to.have.length(refusals.length)
    for (const client of [one, other]) client.socket.terminate()
  })

  it('goes on serving others while one socket floods, and answers the flood in the end', async () => {
    const flooding = await signInNew()
    const calm = await signInNew()

    flooding.sendTogether(...Array.from({ length: 700 }, () => ({ type: 'ping' })))
    calm.send({ type: 'ping' })

    await calm.take('pong')
    await eventually('every pong', () => flooding.messages.length === 700)
    for (const client of [flooding, calm]) client.socket.terminate()
  })

  it('drops a peer that does not answer pings, without any close frame, and keeps one that does', async () => {
    const watchful = await world.startNode({ pingMs: 100 })
    const user = await buildUser(world)
    const silent = await signIn(watchful.url, user.token)
    const lively = await signInNew(watchful.url)
    let pings = 0
    lively.socket.on('ping', () => (pings += 1))

    freeze(silent)

    await eventually('the silent user is offline', async () => (await statusOf(world, user)) === 'offline')
    await eventually('more pings to the other', () => pings > 3)
    lively.send({ type: 'ping' })
    await lively.take('pong')
    for (const client of [silent, lively]) client.socket.terminate()
  })

  it('cuts a peer that does not read once a bounded amount waits for it', async () => {
    const user = await buildUser(world)
    const friend = await buildUser(world)
    await befriend(world, user, friend)
    const client = await signIn(node.url, user.token)
    const bus = await world.bus()
    const [{ id: nodeId } = { id: '' }] = await world.sql<{ id: string }>(
      'select node_id::text as id from presences where user_id = ?',
      [user.id],
    )
    freeze(client)

    const recipients = Array.from({ length: 20_000 }, () => user.id)
    let version = 0
    await eventually(
      'the socket is cut',
      async () => {
        version += 1
        bus.announce(presenceChanged, { userId: friend.id, status: 'online', version, recipients }, { to: nodeId })
        const { text } = await node.ports.metrics.render()
        return text.includes('gatehouse_slow_readers_total 1')
      },
      15_000,
    )

    await eventually('the user is offline', async () => (await statusOf(world, user)) === 'offline')
    client.socket.terminate()
  })
})

/** The peer's machine is gone, or its program hangs: nothing is read any more. */
function freeze(client: Client): void {
  const { _socket: connection } = client.socket as unknown as { _socket: Socket }
  connection.pause()
}
