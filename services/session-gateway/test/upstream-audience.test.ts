import { eventually } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { connect as connectToNats } from 'nats'
import { signIn } from './client.ts'
import { buildUser, openCluster, quick, type Cluster, type Node } from './harness.ts'
import { countOf, openUpstreams, total } from './upstreams.ts'

type Asked = { users: string[] }

/** Contract: 6, presence_update. */
describe('the audience that an upstream answers', () => {
  const scope = new AsyncDisposableStack()
  let cluster: Cluster
  let upstreams: Awaited<ReturnType<typeof openUpstreams>>
  let nodes: [Node, Node]

  before(async () => {
    cluster = scope.use(await openCluster())
    const answers = ['audience', 'members']
    const entries = [
      { name: 'chat', messages: ['chat.'], answers },
      { name: 'broken', answers },
    ]
    upstreams = scope.use(await openUpstreams(cluster, entries))
    const given = {
      config: { upstreamsFile: upstreams.path },
      overrides: { timings: { ...quick, readyPartsMs: 10_000, audienceMs: 5_000, readyPartRetryMs: 20 } },
    }
    nodes = [await cluster.startNodeWith(given), await cluster.startNodeWith(given)]
  })
  after(() => scope.disposeAsync())

  /** A room of the upstream alone, beside another one that answers with what cannot be used. */
  async function openRoom(members: () => string[]) {
    const chat = await upstreams.connect('chat')
    const broken = await connectToNats({ servers: cluster.natsUrl })
    const asked: Asked[] = []
    broken.subscribe(`${cluster.natsPrefix}.upstream.broken.*`, {
      callback: (_, message) => void message.respond(`{"groups":[{"users":["1"],"audience":"everybody"}]}`),
    })
    await broken.flush()
    chat.onQuestion('audience', (question) => {
      asked.push(question)
      const users = question.users.filter((id) => members().includes(id))
      return { groups: [{ users: [...users, '9223372036854775807'], audience: members() }] }
    })
    return {
      chat,
      asked,
      async [Symbol.asyncDispose]() {
        await Promise.all([chat.close(), broken.close()])
      },
    }
  }

  it('sees who comes, who goes and who is there, across nodes, and nobody else does', async () => {
    const [alice, bob, stranger] = [await buildUser(cluster), await buildUser(cluster), await buildUser(cluster)]
    await using _room = await openRoom(() => [alice.id, bob.id])
    const first = await signIn(nodes[0].url, alice.token)
    const other = await signIn(nodes[0].url, stranger.token)

    const second = await signIn(nodes[1].url, bob.token)
    const statusesOf = (client: typeof first) =>
      client.messages.flatMap((one) =>
        one.type === 'presence_update' && one['userId'] === bob.id ? [one['status']] : [],
      )
    await eventually('bob is online', () => statusesOf(first).includes('online'))
    await second.close()
    await eventually('bob is offline', () => statusesOf(first).at(-1) === 'offline')
    await other.synchronize()

    expect(second.ready.presences).to.deep.equal({ [bob.id]: 'online', [alice.id]: 'online' })
    expect(first.ready.presences).to.deep.equal({ [alice.id]: 'online' })
    expect(statusesOf(other)).to.deep.equal([])
    expect(await countOf(nodes[0], 'gatehouse_upstream_questions_total', 'broken', 'wrong', 'audience')).to.be.above(0)
    await Promise.all([first.close(), other.close()])
  })

  it('sees who was online before, once the upstream announces that others see them now', async () => {
    const [alice, bob, stranger] = [await buildUser(cluster), await buildUser(cluster), await buildUser(cluster)]
    let members: string[] = []
    await using room = await openRoom(() => members)
    const first = await signIn(nodes[0].url, alice.token)
    const second = await signIn(nodes[1].url, bob.token)
    const other = await signIn(nodes[0].url, stranger.token)
    const heardOf = (client: typeof first, id: string) => client.messages.filter(({ userId }) => userId === id)
    expect(first.ready.presences).to.deep.equal({ [alice.id]: 'online' })

    members = [alice.id, bob.id]
    await eventually('each hears of the other', () => {
      room.chat.audienceChanged([bob.id, alice.id, '9223372036854775807'])
      return heardOf(first, bob.id).length > 0 && heardOf(second, alice.id).length > 0
    })
    await other.synchronize()

    expect(heardOf(first, bob.id)[0]).to.include({ type: 'presence_update', status: 'online' })
    expect([...heardOf(other, bob.id), ...heardOf(other, alice.id)]).to.deep.equal([])
    await Promise.all([first.close(), second.close(), other.close()])
  })

  it('is announced by an upstream that answers it alone, and for a hundred at most', async () => {
    const mute = scope.use(await openUpstreams(cluster, [{ name: 'mute', messages: ['mute.'] }]))
    const node = await cluster.startNodeWith({ config: { upstreamsFile: mute.path } })
    const [own, chat] = [await mute.connect('mute'), await upstreams.connect('chat')]
    const invalid = async () => [
      await countOf(node, total, 'mute', 'invalid'),
      await countOf(nodes[0], total, 'chat', 'invalid'),
    ]

    own.audienceChanged(['1'])
    chat.audienceChanged(Array.from({ length: 101 }, (_, n) => `${n + 1}`))

    await eventually('both are dropped', async () => (await invalid()).join() === '1,1')
  })

  it('goes on without an answer, and gets what was missed when the upstream answers again', async () => {
    const [alice, bob] = [await buildUser(cluster), await buildUser(cluster)]
    const first = await signIn(nodes[0].url, alice.token)
    const second = await signIn(nodes[1].url, bob.token)
    expect(second.ready.presences).to.deep.equal({ [bob.id]: 'online' })

    await using _room = await openRoom(() => [alice.id, bob.id])

    await eventually('bob is online', () => first.messages.some(({ userId }) => userId === bob.id))
    await Promise.all([first.close(), second.close()])
  })

  it('holds no handshake back beyond the time limit while the upstream is silent', async () => {
    const user = await buildUser(cluster)
    await using nats = await connectSilent()
    const timings = { ...quick, audienceMs: 30 }
    const node = await cluster.startNodeWith({ config: { upstreamsFile: upstreams.path }, overrides: { timings } })

    const client = await signIn(node.url, user.token)

    expect(client.ready.presences).to.deep.equal({ [user.id]: 'online' })
    await eventually('the question', () => nats.asked > 0)
    expect(await countOf(node, 'gatehouse_upstream_questions_total', 'chat', 'late', 'audience')).to.be.above(0)
    await client.close()
  })

  /** Gets every question of chat, and replies to none. */
  async function connectSilent() {
    const connection = await connectToNats({ servers: cluster.natsUrl })
    const silent = { asked: 0, [Symbol.asyncDispose]: () => connection.close() }
    const callback = () => void (silent.asked += 1)
    connection.subscribe(`${cluster.natsPrefix}.upstream.chat.audience`, { callback })
    await connection.flush()
    return silent
  }

  /** Contract: 3, upstreams. */
  it('lets an upstream deliver to a space of its own, and drops what is for an unknown one', async () => {
    const [alice, bob] = [await buildUser(cluster), await buildUser(cluster)]
    await using room = await openRoom(() => [])
    const [first, second] = [await signIn(nodes[0].url, alice.token), await signIn(nodes[1].url, bob.token)]
    room.chat.deliver({ space: 'hall' }, { type: 'chat.early' })
    const dropped = () => countOf(nodes[0], 'gatehouse_upstream_messages_total', 'chat', 'members_unknown')
    await eventually('the drop', async () => (await dropped()) === 1)
    const asked: string[] = []
    room.chat.onQuestion('members', ({ space }) => {
      asked.push(space)
      return { members: [alice.id, '9223372036854775807'] }
    })

    await eventually('a delivery', () => {
      room.chat.deliver({ space: 'hall' }, { type: 'chat.said' })
      return first.messages.some(({ type }) => type === 'chat.said')
    })
    await second.synchronize()

    expect(new Set(asked)).to.deep.equal(new Set(['hall']))
    expect(second.messages.filter(({ type }) => type.startsWith('chat.'))).to.deep.equal([])
    await Promise.all([first.close(), second.close()])
  })
})
