import { randomUUID } from 'node:crypto'
import { inviteDeleted, sessionsEnded } from '@gatehouse/contracts'
import { eventually } from '@gatehouse/test-kit'
import type { SocketCaller, UpstreamEvent } from '@gatehouse/upstream'
import { expect } from 'chai'
import { connect as connectToNats } from 'nats'
import { connect, signIn } from './client.ts'
import { buildUser, openCluster, publishEnding, quick, stateOf, type Cluster, type Node } from './harness.ts'
import { countOf, openUpstreams, total } from './upstreams.ts'

const chat = { name: 'chat', messages: ['chat.'], ready: ['spaces', 'chatDrafts'], events: ['SessionsEnded'] }

type Give = (caller: SocketCaller) => object | Promise<object>

describe('upstreams in ready and events', () => {
  const scope = new AsyncDisposableStack()
  let cluster: Cluster
  let upstreams: Awaited<ReturnType<typeof openUpstreams>>
  let node: Node

  before(async () => {
    cluster = scope.use(await openCluster())
    upstreams = scope.use(await openUpstreams(cluster, [chat, { name: 'voice', ready: ['voiceStates'] }]))
    const timings = { ...quick, readyPartsMs: 5_000, readyPartRetryMs: 30, upstreamAckWaitMs: 500, upstreamRenewMs: 50 }
    node = await cluster.startNodeWith({ config: { upstreamsFile: upstreams.path }, overrides: { timings } })
  })
  after(() => scope.disposeAsync())

  /** Both upstreams, each with what it gives. */
  async function connectBoth(give: { chat: Give; voice?: Give }) {
    const connections = { chat: await upstreams.connect('chat'), voice: await upstreams.connect('voice') }
    connections.chat.onReady(give.chat)
    connections.voice.onReady(give.voice ?? (() => ({ voiceStates: {} })))
    return {
      ...connections,
      async [Symbol.asyncDispose]() {
        await Promise.all([connections.chat.close(), connections.voice.close()])
      },
    }
  }

  it('fills ready with the fields that come in time, and with no others', async () => {
    const asked: SocketCaller[] = []
    await using both = await connectBoth({
      chat: (caller) => {
        asked.push(caller)
        return { spaces: [{ id: '1' }], chatDrafts: { a: 'ü' }, user: null, dmChannels: [1] }
      },
    })
    const user = await buildUser(cluster)

    const client = await signIn(node.url, user.token)

    expect(client.ready).to.deep.include({ spaces: [{ id: '1' }], chatDrafts: { a: 'ü' }, dmChannels: [] })
    expect(client.ready.user).to.include({ id: user.id })
    expect(client.ready).to.not.have.property('incomplete')
    const { sessionId } = client.ready
    expect(asked).to.have.length(1)
    expect(asked[0]).to.include({ userId: user.id, username: user.username, isAdmin: false, sessionId })
    expect(both).to.be.an('object')
    await client.close()
  })

  it('names in ready what is late or of the wrong kind, and sends the late part before what was delivered after it', async () => {
    const late = Promise.withResolvers<object>()
    const timings = { ...quick, readyPartsMs: 40, readyPartRetryMs: 30 }
    const hasty = await cluster.startNodeWith({ config: { upstreamsFile: upstreams.path }, overrides: { timings } })
    const user = await buildUser(cluster)
    await using both = await connectBoth({
      chat: async () => {
        const part = await late.promise
        setImmediate(() => both.chat.deliver({ users: [user.id] }, { type: 'chat.after' }))
        return part
      },
      voice: () => ({ voiceStates: [] }),
    })

    const client = await signIn(hasty.url, user.token)
    await client.synchronize()
    const others = client.messages.filter(({ type }) => type === 'ready_part')
    late.resolve({ spaces: ['late'] })

    expect(client.ready).to.deep.include({ incomplete: ['chat', 'voice'], spaces: [], voiceStates: {} })
    expect(others).to.deep.equal([])
    await eventually('the part and what came after it', () => client.messages.some(({ type }) => type === 'chat.after'))
    const part = { type: 'ready_part', upstream: 'chat', spaces: ['late'] }
    expect(client.messages).to.deep.equal([part, { type: 'chat.after' }])
    await client.close()
    await hasty.dispose()
  })

  it('does not wait for an upstream that is away, and asks it again while the socket is there', async () => {
    const leaving = await signIn(node.url, (await buildUser(cluster)).token)
    const client = await signIn(node.url, (await buildUser(cluster)).token)
    await leaving.close()

    await using both = await connectBoth({ chat: () => ({ spaces: ['back'] }) })

    expect(both).to.be.an('object')
    expect(client.ready.incomplete).to.deep.equal(['chat', 'voice'])
    const parts = [await client.take('ready_part'), await client.take('ready_part')]
    const ended = 'gatehouse_upstream_ready_parts_total'
    await eventually('no further question', async () => (await countOf(node, ended, 'chat', 'missing')) === 1)
    expect(parts).to.have.deep.members([
      { type: 'ready_part', upstream: 'chat', spaces: ['back'] },
      { type: 'ready_part', upstream: 'voice', voiceStates: {} },
    ])
    await client.close()
  })

  it('keeps what is delivered while ready is composed for after it', async () => {
    const user = await buildUser(cluster)
    const text = (n: number) => ({ type: 'chat.text', n })
    await using both = await connectBoth({
      chat: () => ({ spaces: [] }),
      voice: async () => {
        both.chat.deliver({ users: [user.id] }, text(1))
        both.chat.deliver({ users: [user.id] }, text(2))
        await eventually('both are on the node', async () => (await countOf(node, total, 'chat', 'delivered')) >= 2)
        return { voiceStates: {} }
      },
    })
    const client = await connect(node.url)

    client.send({ type: 'auth', token: user.token })

    await eventually('both messages', () => client.messages.length === 3)
    expect(client.messages.map(({ type, n }) => n ?? type)).to.deep.equal(['ready', 1, 2])
    await client.close()
  })

  it('closes a socket whose session ends while ready is composed, without ready', async () => {
    const asked = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<object>()
    await using both = await connectBoth({
      chat: () => {
        asked.resolve()
        return answer.promise
      },
    })
    const user = await buildUser(cluster, Date.now() - 5_000)
    const client = await connect(node.url)
    client.send({ type: 'auth', token: user.token })
    await asked.promise

    await publishEnding({ cluster, bus: await cluster.openBus() }, user, { event: 'SessionsEnded' })

    expect((await client.closed).code).to.equal(4004)
    const before = await readyHandshakes(node)
    answer.resolve({ spaces: [] })
    const other = await signIn(node.url, (await buildUser(cluster)).token)
    expect(client.messages).to.deep.equal([{ type: 'error', message: 'Token has been revoked', code: 'token_revoked' }])
    expect(await readyHandshakes(node)).to.equal(before + 1)
    expect(both).to.be.an('object')
    await other.close()
  })

  it('keeps the events that the file names until they are acknowledged, over a restart of the upstream', async () => {
    const bus = await cluster.openBus()
    const user = await buildUser(cluster)
    const payload = { userId: user.id, at: 1, state: await stateOf(cluster, user), actor: null }
    const publish = async (at: number) => {
      await bus.publish(inviteDeleted, { inviteId: '1', name: 'other', at, actor: null }, { id: randomUUID() })
      await bus.publish(sessionsEnded, { ...payload, at }, { id: randomUUID(), requestId: `r${at}` })
    }
    const events: UpstreamEvent[] = []
    const keep = (event: UpstreamEvent) => {
      // Those of other tests are acknowledged.
      if (event.payload.userId === user.id) events.push(event)
    }
    const first = await upstreams.connect('chat')
    first.onEvent((event) => {
      keep(event)
      if (events.length > 0 && events.length <= 2) throw new Error('refused until it is delivered again')
    })
    await publish(71)
    await eventually('the event and its second delivery', () => events.length === 2)
    await first.close()

    await publish(72)
    const pending = async () => {
      const { text } = await node.resources.metrics.render()
      return /^gatehouse_upstream_events_pending\{upstream="chat",event="SessionsEnded"\} (\d+)$/m.exec(text)?.[1]
    }
    await eventually('both are told to wait', async () => (await pending()) === '2')
    const second = await upstreams.connect('chat')
    second.onEvent(['SessionsEnded'], keep)

    const ats = () => events.slice(2).map(({ payload }) => payload.at)
    await eventually('both events', () => ats().includes(71) && ats().includes(72))
    const told = events.map(({ name, requestId, deliveries }) => [name, requestId, deliveries])
    expect(told.slice(0, 2)).to.deep.equal([
      ['SessionsEnded', 'r71', 1],
      ['SessionsEnded', 'r71', 2],
    ])
    expect(told).to.have.deep.members([...told.slice(0, 2), ['SessionsEnded', 'r71', 3], ['SessionsEnded', 'r72', 1]])
    await eventually('none waits', async () => (await pending()) === '0')
    await second.close()
  })

  it('takes over a changed file on SIGHUP, and keeps what is in force when the file has faults', async () => {
    const client = await signIn(node.url, (await buildUser(cluster)).token)
    const received: string[] = []
    const media = await upstreams.connect('media')
    media.onMessage(({ message }) => void received.push(message.type))

    await upstreams.write([{ name: 'media', messages: ['media.'], ready: ['mediaRooms'] }])
    process.emit('SIGHUP', 'SIGHUP')
    await eventually('media has its messages', async () => {
      client.send({ type: 'media.a' })
      await client.synchronize()
      return received.length > 0
    })
    await upstreams.write('none')
    process.emit('SIGHUP', 'SIGHUP')
    client.messages.length = 0
    client.send({ type: 'chat.gone' })
    client.send({ type: 'media.b' })

    await eventually('media still has its messages', () => received.includes('media.b'))
    await client.synchronize()
    expect(client.messages).to.deep.equal([
      { type: 'error', message: 'Unknown message type', code: 'unknown_message_type', about: 'chat.gone' },
    ])
    await eventually('the consumer is deleted', async () => (await countConsumers(cluster)) === 0)
    await media.close()
  })
})

async function readyHandshakes({ resources }: Node): Promise<number> {
  const { text } = await resources.metrics.render()
  return Number(/^gatehouse_handshakes_total\{outcome="ready"\} (\d+)$/m.exec(text)?.[1] ?? 0)
}

async function countConsumers({ natsUrl, natsPrefix }: Cluster): Promise<number> {
  const connection = await connectToNats({ servers: natsUrl })
  const manager = await connection.jetstreamManager()
  let count = 0
  for await (const { name } of manager.consumers.list(`${natsPrefix}-events`))
    count += Number(name.startsWith('upstream_'))
  await connection.close()
  return count
}
