import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '@gatehouse/test-kit'
import { MessageRefused, type SocketMessage, type UpstreamConnection } from '@gatehouse/upstream'
import { movableClock } from '@gatehouse/test-kit/time'
import { expect } from 'chai'
import { connect as connectToNats } from 'nats'
import { signIn, type Client } from './client.ts'
import { buildUser, openCluster, publishEnding, quick, statusOf, type Cluster, type Node } from './harness.ts'
import { countOf, openUpstreams, total } from './upstreams.ts'

describe('messages between sockets and upstreams', () => {
  const scope = new AsyncDisposableStack()
  let cluster: Cluster
  let upstreams: Awaited<ReturnType<typeof openUpstreams>>
  let node: Node

  before(async () => {
    cluster = scope.use(await openCluster())
    const entries = ['chat', 'slow', 'quick', 'absent'].map((name) => ({ name, messages: [`${name}.`] }))
    upstreams = scope.use(await openUpstreams(cluster, entries))
    node = await startNode()
  })
  after(() => scope.disposeAsync())

  const startNode = (options: Parameters<Cluster['startNodeWith']>[0] = {}) =>
    cluster.startNodeWith({
      ...options,
      config: { upstreamsFile: upstreams.path },
      overrides: { timings: { ...quick, ...options.overrides?.timings } },
    })
  const signInNew = async (url = node.url) => signIn(url, (await buildUser(cluster)).token)

  /** An upstream whose messages are kept, and acknowledged when the test says so. */
  async function holdMessages(name: string) {
    const upstream = await upstreams.connect(name)
    const received: SocketMessage[] = []
    const release = Promise.withResolvers<void>()
    upstream.onMessage(async (message) => {
      received.push(message)
      await release.promise
    })
    return { upstream, received, release: release.resolve }
  }

  it('sends the messages of each socket in order, over two replicas, with who sent them', async () => {
    const received: SocketMessage[] = []
    const busy = new Set<string>()
    const overlapping: unknown[] = []
    const replicas = [await upstreams.connect('chat'), await upstreams.connect('chat')]
    const counts = replicas.map((replica) => {
      const seen = { messages: 0 }
      replica.onMessage(async (message) => {
        if (busy.has(message.sessionId)) overlapping.push(message)
        busy.add(message.sessionId)
        received.push(message)
        seen.messages += 1
        if (received.length % 3 === 0) await pause(5)
        busy.delete(message.sessionId)
      })
      return seen
    })
    const admin = await buildUser(cluster, Date.now(), { isAdmin: true })
    const clients = [await signIn(node.url, admin.token), await signInNew()]
    const numbers = Array.from({ length: 25 }, (_, n) => n)

    for (const client of clients) client.sendTogether(...numbers.map((n) => ({ type: 'chat.send', n, text: 'ü€' })))
    await eventually('all messages', () => received.length === 50)
    await using bus = await watchBus(cluster)
    clients[1]!.socket.send('{"type":"slow.x","type":"chat.twice"}')
    await eventually('the last message', () => received.length === 51)

    expect(bus.texts.at(-1)).to.include('"message":{"type":"chat.twice"}}')
    received.pop()
    for (const { ready } of clients) {
      const own = received.filter(({ sessionId }) => sessionId === ready.sessionId)
      expect(own.map(({ message }) => message.n)).to.deep.equal(numbers)
    }
    expect(overlapping).to.deep.equal([])
    expect(Math.min(...counts.map(({ messages }) => messages))).to.be.above(0)
    const { requestId, ...first } = received.find(({ userId }) => userId === admin.id)!
    expect(requestId).to.match(/^[0-9a-f-]{36}$/)
    const { sessionId } = clients[0]!.ready
    const message = { type: 'chat.send', n: 0, text: 'ü€' }
    expect(first).to.deep.equal({ userId: admin.id, username: admin.username, isAdmin: true, sessionId, message })
    await Promise.all([...clients.map((client) => client.close()), ...replicas.map((replica) => replica.close())])
  })

  it('costs the messages of a slow, an absent and a refusing upstream an error, and no other message', async () => {
    const impatient = await startNode({ overrides: { timings: { upstreamMessageMs: 300 } } })
    const slow = await holdMessages('slow')
    await using quickOne = await upstreams.connect('quick')
    const handled: string[] = []
    quickOne.onMessage(({ message }) => {
      handled.push(message.type)
      if (message.type === 'quick.refused') throw new MessageRefused('ß'.repeat(201))
    })
    const client = await signInNew(impatient.url)

    client.sendTogether(...['slow.a', 'absent.b', 'quick.c', 'quick.refused', 'nobody.d'].map((type) => ({ type })), {
      type: 'ping',
    })

    await client.take('pong')
    await eventually('the quick one has both', () => handled.length === 2)
    await eventually('four errors', () => client.messages.length === 4)
    const error = (requestType: string, message: string, code: string) => ({
      type: 'error',
      message,
      code,
      requestType,
    })
    expect(client.messages.at(-1)).to.deep.equal(error('slow.a', 'Service unavailable', 'service_unavailable'))
    expect(client.messages).to.have.deep.members([
      { type: 'error', message: 'Unknown message type', code: 'unknown_message_type', about: 'nobody.d' },
      error('absent.b', 'Service unavailable', 'service_unavailable'),
      error('quick.refused', 'ß'.repeat(200), 'message_refused'),
      error('slow.a', 'Service unavailable', 'service_unavailable'),
    ])
    expect(await countOf(impatient, total, 'slow', 'unavailable')).to.equal(1)
    slow.release()
    await slow.upstream.close()
    await impatient.dispose()
  })

  /** Contract: 6, ref. */
  it('tells who gave a message a ref what came of it, once', async () => {
    await using upstream = await upstreams.connect('chat')
    upstream.onMessage(({ message }) => {
      if (message.type === 'chat.refused') throw new MessageRefused('no')
      return { id: '7', text: 'ü'.repeat(message.type === 'chat.large' ? 64 * 1024 : 1) }
    })
    const client = await signInNew()

    client.sendTogether(
      { type: 'chat.say', ref: '1' },
      { type: 'chat.say' },
      { type: 'chat.say', ref: '' },
      { type: 'chat.say', ref: 'r'.repeat(65) },
      { type: 'chat.refused', ref: '2' },
      { type: 'nobody.say', ref: '3' },
      { type: 'chat.large', ref: '4' },
    )
    await eventually('the last one', () => client.messages.some(({ ref }) => ref === '4'))

    const told = client.messages.map(({ type, ref, reply, code }) => ({ type, ref, result: reply ?? code }))
    expect(told).to.have.deep.members([
      { type: 'reply', ref: '1', result: { ok: true, id: '7', text: 'ü' } },
      { type: 'error', ref: '2', result: 'message_refused' },
      { type: 'error', ref: '3', result: 'unknown_message_type' },
      { type: 'error', ref: '4', result: 'service_unavailable' },
    ])
    await client.close()
  })

  it('lets 32 messages of a socket wait for an upstream, and refuses the next', async () => {
    const clock = movableClock()
    const patient = await startNode({ clock, overrides: { timings: { upstreamMessageMs: 60_000 } } })
    const held = await holdMessages('slow')
    const client = await signInNew(patient.url)
    const send = (count: number) => client.sendTogether(...Array(count).fill({ type: 'slow.a' }), { type: 'ping' })

    send(30)
    await client.take('pong')
    clock.advance(20_000)
    send(3)
    await client.take('pong')
    expect(client.messages).to.deep.equal([])
    send(1)
    await client.take('pong')

    expect(client.messages).to.deep.equal([
      { type: 'error', message: 'Too many messages', code: 'too_many_messages', requestType: 'slow.a' },
    ])
    held.release()
    await eventually('the others', () => held.received.length === 33)
    await held.upstream.close()
    await patient.dispose()
  })

  it('sends nothing more of a session that was revoked', async () => {
    const patient = await startNode({ overrides: { timings: { upstreamMessageMs: 60_000 } } })
    const held = await holdMessages('slow')
    const user = await buildUser(cluster, Date.now() - 5_000)
    const client = await signIn(patient.url, user.token)
    client.sendTogether(...[0, 1, 2].map((n) => ({ type: 'slow.a', n })))
    await eventually('the first message', () => held.received.length === 1)

    await publishEnding({ cluster, bus: await cluster.openBus() }, user, { event: 'SessionsEnded' })
    expect((await client.closed).code).to.equal(4004)
    held.release()
    const other = await signInNew(patient.url)
    other.send({ type: 'slow.b' })

    await eventually('a later message', () => held.received.some(({ message }) => message.type === 'slow.b'))
    expect(held.received.map(({ message }) => message.n)).to.deep.equal([0, undefined])
    await held.upstream.close()
    await patient.dispose()
  })

  it('delivers to users, sessions and the members of a space on every node, by one message on the bus', async () => {
    await using chat = await upstreams.connect('chat')
    const second = await startNode()
    const users = await Promise.all([0, 1, 2].map(() => buildUser(cluster)))
    const [ada, ben, eve] = users as [(typeof users)[0], (typeof users)[0], (typeof users)[0]]
    const clients = {
      ada: await signIn(node.url, ada.token),
      adaElsewhere: await signIn(second.url, ada.token),
      ben: await signIn(second.url, ben.token),
      eve: await signIn(node.url, eve.token),
    }
    const spaceId = await buildSpace(cluster, [ada.id, ben.id])
    await using bus = await watchBus(cluster)
    const text = (n: number) => ({ type: 'chat.text', n })

    chat.deliver({ users: [ada.id, ada.id, ben.id] }, text(1))
    chat.deliver({ sessions: [String(clients.eve.ready.sessionId)] }, text(2))
    chat.deliver({ space: spaceId }, text(3), { except: { sessions: [String(clients.ada.ready.sessionId)] } })
    for (const message of [{ type: 'slow.text' }, { type: 'ready' }, { type: 'error' }]) {
      chat.deliver({ users: [ada.id] }, message)
    }
    await eventually('every message has been judged', async () => {
      const counts = [node, second].map(async (each) => [
        await countOf(each, total, 'chat', 'delivered'),
        await countOf(each, total, 'chat', 'foreign_type'),
      ])
      return JSON.stringify(await Promise.all(counts)) === '[[3,3],[3,3]]'
    })

    const received = async (client: Client) => {
      await client.synchronize()
      return client.messages.filter(({ type }) => type !== 'presence_update').map(({ n }) => n)
    }
    expect(await received(clients.ada)).to.deep.equal([1])
    expect(await received(clients.adaElsewhere)).to.deep.equal([1, 3])
    expect(await received(clients.ben)).to.deep.equal([1, 3])
    expect(await received(clients.eve)).to.deep.equal([2])
    expect(bus.texts).to.have.length(6)
    await Promise.all(Object.values(clients).map((client) => client.close()))
    await second.dispose()
  })

  it('drops a reader who is too slow for what upstreams deliver', async () => {
    await using chat = await upstreams.connect('chat')
    const own = await startNode()
    const user = await buildUser(cluster)
    const client = await signIn(own.url, user.token)
    client.freeze()

    const isTerminated = async () =>
      (await own.resources.metrics.render()).text.includes('gatehouse_slow_readers_total 1')
    for (let sent = 50; !(await isTerminated()); sent += 50) {
      for (let n = 0; n < 50; n += 1) deliverLarge(chat, user.id)
      // A node that still has to read what was delivered is not flooded further.
      await eventually('all are judged', async () => (await countOf(own, total, 'chat', 'delivered')) >= sent)
    }

    await eventually('the user is offline', async () => (await statusOf(cluster, user)) === 'offline')
    client.socket.terminate()
  })
})

function deliverLarge(upstream: UpstreamConnection, userId: string): void {
  upstream.deliver({ users: [userId] }, { type: 'chat.text', text: 'x'.repeat(60_000) })
}

async function buildSpace(cluster: Cluster, memberIds: readonly string[]): Promise<string> {
  const [row] = await cluster.sql<{ id: string }>('select next_snowflake()::text as id')
  await cluster.sql(`insert into spaces (id, name, owner_id) values (?, 'Space', ?)`, [row!.id, memberIds[0]])
  for (const id of memberIds) {
    await cluster.sql('insert into space_members (space_id, user_id) values (?, ?)', [row!.id, id])
  }
  return row!.id
}

/** What upstreams and session gateways send each other from now on: each node takes each delivery once. */
async function watchBus({ natsUrl, natsPrefix }: Cluster) {
  const connection = await connectToNats({ servers: natsUrl })
  const texts: string[] = []
  const callback = (_: unknown, message: { string(): string }) => void texts.push(message.string())
  connection.subscribe(`${natsPrefix}.upstream.>`, { callback })
  await connection.flush()
  return { texts, [Symbol.asyncDispose]: () => connection.close() }
}
