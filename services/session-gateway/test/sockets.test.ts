import { randomUUID } from 'node:crypto'
import { listOpenSockets } from '@gatehouse/contracts'
import { expect } from 'chai'
import { answered, createServiceClient, eventually } from '@gatehouse/test-kit'
import { systemClock } from '@gatehouse/runtime'
import { connect, signIn } from './client.ts'
import { buildUser, openCluster, type BuiltUser, type Cluster, type Node } from './harness.ts'

type Reply = {
  sockets: { sessionId: string; connectedAt: number; network: string; userAgent: string; client?: string }[]
  incomplete: boolean
}

describe('GET /api/users/@me/sockets', () => {
  let cluster: Cluster
  let first: Node
  let second: Node
  const nodeSilenceMs = 600_000

  before(async () => {
    cluster = await openCluster()
    first = await cluster.startNode({ nodeSilenceMs })
    second = await cluster.startNode({ nodeSilenceMs, socketListMs: 20_000 })
  })
  after(() => cluster[Symbol.asyncDispose]())

  async function listAt(node: Node, as?: BuiltUser): Promise<{ status: number; body: Reply }> {
    const call = createServiceClient({ name: 'session-gateway', url: node.url, clock: systemClock })
    return await call<Reply>('GET', '/api/users/@me/sockets', { as })
  }

  async function signInFrom(node: Node, user: BuiltUser, from: { address: string; userAgent: string; kind?: string }) {
    const client = await connect(node.url, { address: from.address, headers: { 'user-agent': from.userAgent } })
    client.send({ type: 'auth', token: user.token, ...(from.kind && { client: from.kind }) })
    const ready = await client.take('ready')
    return { ...client, sessionId: String(ready['sessionId']) }
  }

  it('tells the own sockets of every node, newest first, each with its network and user agent cut, and no others', async () => {
    const [user, other] = [await buildUser(cluster), await buildUser(cluster)]
    const startedAt = Date.now()
    const phone = await signInFrom(first, user, { address: '203.0.113.77', userAgent: 'a phone', kind: 'mobile' })
    const tablet = await signInFrom(second, user, {
      address: '2001:db8:7:8:9::1',
      userAgent: 'x'.repeat(300),
      kind: 'toaster',
    })
    const stranger = await signIn(first.url, other.token)
    const unauthenticated = await connect(first.url)

    const { status, body } = await listAt(second, user)

    expect([status, body.incomplete]).to.deep.equal([200, false])
    expect(body.sockets.map(({ connectedAt: _, ...rest }) => rest)).to.deep.equal([
      { sessionId: tablet.sessionId, network: '2001:db8:7::/48', userAgent: 'x'.repeat(256) },
      { sessionId: phone.sessionId, network: '203.0.113.0/24', userAgent: 'a phone', client: 'mobile' },
    ])
    for (const { connectedAt } of body.sockets) expect(connectedAt).to.be.within(startedAt, Date.now())
    await phone.close()
    await eventually('the closed socket is gone', async () => (await listAt(second, user)).body.sockets.length === 1)
    for (const client of [tablet, stranger, unauthenticated]) client.socket.terminate()
  })

  it('is for the bearer of a token only', async () => {
    expect((await listAt(first)).status).to.equal(401)
  })

  /** Contract: 3, Sockets. */
  it('is incomplete within 500 ms when a node that is known to live is silent, and tells what the others have', async () => {
    const user = await buildUser(cluster)
    const silent = randomUUID()
    const client = await signInFrom(second, user, { address: '192.0.2.9', userAgent: 'a browser' })
    await cluster.sql('insert into session_nodes (id) values (?)', [silent])

    // On a busy machine the answer of the other node may also be too late: then it is asked again.
    const told = await eventually('the sockets of the node that answers', async () => {
      const { status, body } = await listAt(first, user)
      expect([status, body.incomplete]).to.deep.equal([200, true])
      return body.sockets[0]?.sessionId
    })

    expect(told).to.equal(client.sessionId)
    await cluster.sql('delete from session_nodes where id = ?', [silent])
    expect((await listAt(second, user)).body.incomplete).to.equal(false)
    client.socket.terminate()
  })

  /** Contract: 5, A user. */
  it('is told to identity too, of every node, when an admin looks at the account', async () => {
    const user = await buildUser(cluster)
    const client = await signInFrom(second, user, { address: '192.0.2.9', userAgent: 'a browser' })

    const told = await first.resources.bus.request(listOpenSockets, { userId: user.id }, { timeoutMs: 5_000 })

    expect(told.sockets.map(({ sessionId }) => sessionId)).to.deep.equal([client.sessionId])
    expect(told.incomplete).to.equal(false)
    client.socket.terminate()
  })

  it('asks the other nodes, and is answered by them, under the id of the request', async () => {
    const user = await buildUser(cluster)
    const sent: string[] = []
    for (const { resources } of [first, second]) {
      const { publish } = resources.bus
      resources.bus.publish = async (event, payload, options) => {
        sent.push(`${event.name} ${options?.requestId}`)
        await publish(event, payload, options)
      }
    }
    const call = createServiceClient({ name: 'session-gateway', url: first.url, clock: systemClock })
    const requestId = randomUUID()

    await answered(call('GET', '/api/users/@me/sockets', { as: user, headers: { 'x-request-id': requestId } }))

    expect(sent).to.include(`SocketsAsked ${requestId}`)
    await eventually('the answer', () => sent.includes(`SocketsTold ${requestId}`))
  })

  it('asks the other nodes once for requests that come together', async () => {
    const user = await buildUser(cluster)
    const client = await signIn(first.url, user.token)
    const { bus } = first.resources
    const { publish } = bus
    let questions = 0
    bus.publish = async (event, ...rest) => {
      if (event.name === 'SocketsAsked') questions += 1
      await publish(event, ...rest)
    }
    await cluster.sql('insert into session_nodes (id) values (?)', [randomUUID()])

    const replies = await Promise.all(Array.from({ length: 20 }, () => listAt(first, user)))

    expect(replies.map(({ body }) => body.sockets.length)).to.deep.equal(Array(20).fill(1))
    // The silent node keeps the first question open.
    expect(questions).to.be.lessThan(20)
    client.socket.terminate()
  })
})
