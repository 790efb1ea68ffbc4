import type { Socket } from 'node:net'
import { expect } from 'chai'
import { eventually } from '@gatehouse/test-kit'
import { movableClock } from '@gatehouse/test-kit/time'
import { connect, signIn, type Client } from './client.ts'
import { buildUser, openCluster, quick, type Cluster, type Node } from './harness.ts'

describe('a flood of frames', () => {
  let cluster: Cluster
  let node: Node

  before(async () => {
    cluster = await openCluster()
    node = await cluster.startNode()
  })
  after(() => cluster[Symbol.asyncDispose]())

  for (const kind of ['ping', 'pong'] as const) {
    it(`of ${kind}s before the first message ends the socket at the tenth frame and not before`, async () => {
      const user = await buildUser(cluster)
      const [allowed, flooding] = [await connect(node.url), await connect(node.url)]

      sendControls(allowed, kind, 9)
      allowed.send({ type: 'auth', token: user.token })
      sendControls(flooding, kind, 1_000)

      await allowed.take('ready')
      expect(await flooding.closed).to.deep.equal({ code: 4002, reason: 'First message must be auth' })
      expect(flooding.messages).to.deep.equal([
        { type: 'error', message: 'First message must be auth', code: 'first_message_not_auth' },
      ])
      allowed.socket.terminate()
    })
  }

  it('of pongs that nobody asked for ends an authenticated socket at the 301st of a second', async () => {
    const limiting = await cluster.startNodeWith({ clock: movableClock(), overrides: { timings: quick } })
    const user = await buildUser(cluster)
    const flooding = await signIn(limiting.url, user.token)

    sendControls(flooding, 'pong', 299)
    await flooding.synchronize()
    sendControls(flooding, 'pong', 1)

    expect((await flooding.closed).code).to.equal(1006)
    const { text } = await limiting.resources.metrics.render()
    expect(text).to.include('gatehouse_flooding_sockets_total 1')
  })

  it('of pings is answered up to the limit, and stays open', async () => {
    const limiting = await cluster.startNodeWith({ clock: movableClock(), overrides: { timings: quick } })
    const flooding = await signIn(limiting.url, (await buildUser(cluster)).token)
    const other = await signIn(limiting.url, (await buildUser(cluster)).token)
    let pongs = 0
    flooding.socket.on('pong', () => (pongs += 1))

    sendControls(flooding, 'ping', 1_000)
    await eventually('the pongs', () => pongs === 300)
    await other.synchronize()

    expect(pongs).to.equal(300)
    expect(flooding.socket.readyState).to.equal(flooding.socket.OPEN)
    for (const client of [flooding, other]) client.socket.terminate()
  })

  it('between the first message and ready is not read before ready', async () => {
    const user = await buildUser(cluster)
    const other = await buildUser(cluster)
    const em = cluster.orm.em.fork()
    await em.begin()
    await em.execute('select 1 from users where id = ? for update', [user.id])
    const waiting = await connect(node.url)
    waiting.send({ type: 'auth', token: user.token })
    await signIn(node.url, other.token).then(({ socket }) => socket.terminate())

    waiting.sendTogether(...Array.from({ length: 100 }, () => ({ type: 'ping' })))
    await signIn(node.url, other.token).then(({ socket }) => socket.terminate())
    const early = [...waiting.messages]
    await em.commit()

    await waiting.take('ready')
    await eventually('the pongs', () => waiting.messages.length === 100)
    expect(early).to.deep.equal([])
    waiting.socket.terminate()
  })
})

/** In one piece, so that they are read in one turn. */
function sendControls({ socket }: Client, kind: 'ping' | 'pong', count: number): void {
  const connection = (socket as unknown as { _socket: Socket })._socket
  connection.cork()
  for (let sent = 0; sent < count; sent += 1) socket[kind]()
  connection.uncork()
}
