import { type AccountStates, createAccountStates, readAccountStates } from '@gatehouse/authority'
import { randomUUID } from 'node:crypto'
import { settingsChanged, type AccountState } from '@gatehouse/contracts'
import { eventually } from '@gatehouse/test-kit'
import type { SocketMessage, UpstreamConnection } from '@gatehouse/upstream'
import { expect } from 'chai'
import { signIn, type Client } from './client.ts'
import { buildUser, openCluster, quick, type BuiltUser, type Cluster, type Node, type NodeOptions } from './harness.ts'
import { openUpstreams } from './upstreams.ts'

/** No event is published here, and no sweep runs: the bus is silent. */
describe('a message of a socket whose account changed without an event', () => {
  const scope = new AsyncDisposableStack()
  let cluster: Cluster
  let upstreams: Awaited<ReturnType<typeof openUpstreams>>
  let chat: UpstreamConnection
  let node: Node
  const received: SocketMessage[] = []
  /** The handler of an upstream waits for it. */
  let reply = Promise.withResolvers<void>()

  before(async () => {
    cluster = scope.use(await openCluster())
    upstreams = scope.use(await openUpstreams(cluster, [{ name: 'chat', messages: ['chat.'], ready: ['spaces'] }]))
    chat = await upstreams.connect('chat')
    chat.onMessage(async (message) => {
      received.push(message)
      await reply.promise
    })
    chat.onReady(() => ({ spaces: [] }))
    node = await startNode()
  })
  beforeEach(() => {
    received.length = 0
    reply = Promise.withResolvers()
    reply.resolve()
  })
  after(() => scope.disposeAsync())

  const startNode = (overrides: NodeOptions['overrides'] = {}) =>
    cluster.startNodeWith({
      config: { upstreamsFile: upstreams.path },
      overrides: { ...overrides, timings: { ...quick, ...overrides.timings } },
    })
  const buildOld = (isAdmin = false) => buildUser(cluster, Date.now() - 5_000, { isAdmin })
  const change = (user: BuiltUser, columns: string) =>
    cluster.sql(
      `update users set ${columns.replaceAll('$now', String(Date.now()))}, state_version = state_version + 1 where id = ?`,
      [user.id],
    )
  const revocations = {
    'a change of password': 'password_changed_at = $now',
    'a reset': 'password_changed_at = $now, sessions_ended_at = $now',
    'a deletion': 'is_deleted = true',
    'a suspension': 'suspended_at = $now, password_changed_at = $now, sessions_ended_at = $now',
  }
  const revokedMessage = {
    type: 'error',
    message: 'Token has been revoked',
    code: 'token_revoked',
    requestType: 'chat.say',
  }
  const say = (client: Client, ...numbers: number[]) =>
    client.sendTogether(...numbers.map((n) => ({ type: 'chat.say', n })))

  /** What the upstream is told of an admin who loses the role after the first message. */
  async function demote(url: string): Promise<boolean[]> {
    const admin = await buildOld(true)
    const client = await signIn(url, admin.token)
    say(client, 0)
    await eventually('the first message', () => received.length === 1)
    await change(admin, 'is_admin = false')
    say(client, 1)
    await eventually('the second message', () => received.length === 2)
    client.socket.terminate()
    return received.map(({ isAdmin }) => isAdmin)
  }

  /** As sockets were judged before: by what is known from the start. */
  function rememberedStates(): AccountStates {
    const known = new Map<string, AccountState>()
    return createAccountStates({
      load: async (userIds) => {
        const unknown = userIds.filter((userId) => !known.has(userId))
        for (const state of await readAccountStates(cluster.orm.em.fork(), unknown)) known.set(state.userId, state)
        return { states: userIds.flatMap((userId) => known.get(userId) ?? []) }
      },
    })
  }

  /** Contract: 6, messages of revoked tokens. */
  it('names the role that the account has at that moment', async () => {
    expect(await demote(node.url)).to.deep.equal([true, false])
  })

  it('would name the role of the start if it were judged by what the socket knew: the control', async () => {
    const forgetful = await startNode({ accountStates: rememberedStates() })

    expect(await demote(forgetful.url)).to.deep.equal([true, true])
    await forgetful.dispose()
  })

  for (const [kind, columns] of Object.entries(revocations)) {
    /** Contract: 6, messages of revoked tokens. */
    it(`reaches no upstream after ${kind}, and what waited for its turn does not either`, async () => {
      reply = Promise.withResolvers()
      const user = await buildOld()
      const client = await signIn(node.url, user.token)
      say(client, 0, 1)
      await eventually('the first message', () => received.length === 1)

      await change(user, columns)
      reply.resolve()
      say(client, 2)

      expect([await client.take('error'), await client.take('error')]).to.deep.equal([revokedMessage, revokedMessage])
      expect(received.map(({ message }) => message.n)).to.deep.equal([0])
      client.socket.terminate()
    })
  }

  it('reaches its upstream although its client leaves while the account is read', async () => {
    const reading = Promise.withResolvers<void>()
    let isHeld = false
    const load = async (userIds: readonly string[]) => {
      if (isHeld) await reading.promise
      return { states: await readAccountStates(cluster.orm.em.fork(), [...userIds]) }
    }
    const slow = await startNode({ accountStates: createAccountStates({ load }) })
    const client = await signIn(slow.url, (await buildOld()).token)
    isHeld = true
    say(client, 7)
    await client.close()
    await eventually('the socket is gone', async () => {
      return (await slow.resources.metrics.render()).text.includes('gatehouse_sockets_authenticated 0')
    })
    reading.resolve()

    await eventually('the message', () => received.length === 1)
    expect(received[0]!.message.n).to.equal(7)
    await slow.dispose()
  })

  it('reaches no upstream once its token has expired', async () => {
    const clock = { now: () => Date.now() + ahead }
    let ahead = 0
    const own = await cluster.startNodeWith({
      clock,
      config: { upstreamsFile: upstreams.path },
      overrides: { timings: { ...quick, expiryMs: 600_000 } },
    })
    const client = await signIn(own.url, (await buildOld()).token)
    ahead = 3_600_000

    say(client, 0)

    expect(await client.take('error')).to.deep.equal(revokedMessage)
    expect(received).to.deep.equal([])
    await own.dispose()
  })

  it('gets an error while accounts cannot be read, and passes when it is repeated afterwards', async () => {
    const impatient = await startNode({ timings: { accountReadMs: 1_000 } })
    const client = await signIn(impatient.url, (await buildOld(true)).token)
    const release = await lockUsers(cluster)

    say(client, 0)
    client.send({ type: 'watch', topic: 'admin' })

    const unavailable = { type: 'error', message: 'Service unavailable', code: 'service_unavailable' }
    const errors = [await client.take('error'), await client.take('error')]
    expect(errors).to.have.deep.members(['chat.say', 'watch'].map((requestType) => ({ ...unavailable, requestType })))
    expect(received).to.deep.equal([])
    await release()
    say(client, 1)
    await eventually('the repeated message', () => received.some(({ message }) => message.n === 1))
    await impatient.dispose()
  })

  it('shares its read of the account with the others of a turn', async () => {
    const reads: number[] = []
    const counted = createAccountStates({
      load: async (userIds) => {
        reads.push(userIds.length)
        return { states: await readAccountStates(cluster.orm.em.fork(), userIds) }
      },
    })
    const own = await startNode({ accountStates: counted })
    const clients = await Promise.all(Array.from({ length: 20 }, async () => signIn(own.url, (await buildOld()).token)))
    reads.length = 0

    for (const client of clients) say(client, 0, 1, 2)
    await eventually('all messages', () => received.length === 60)

    expect(reads.reduce((sum, size) => sum + size)).to.equal(60)
    expect(reads.length).to.be.below(60)
    await own.dispose()
  })

  /** Contract: 6, watch. */
  it('brings no admin_changed to who has lost the role or the session', async () => {
    const [demoted, reset, other] = [await buildOld(true), await buildOld(true), await buildOld(true)]
    const clients = await Promise.all([demoted, reset, other].map(({ token }) => signIn(node.url, token)))
    for (const client of clients) client.send({ type: 'watch', topic: 'admin' })
    for (const client of clients) await client.synchronize()
    await changeSettings()
    for (const client of clients) await client.take('admin_changed')

    await change(demoted, 'is_admin = false')
    await change(reset, revocations['a reset'])
    await changeSettings()

    expect(await clients[2]!.take('admin_changed')).to.include({ what: 'settings' })
    expect(await clients[1]!.take('error')).to.deep.equal({ ...revokedMessage, requestType: 'watch' })
    for (const client of clients) {
      await client.synchronize()
      expect(client.messages).to.deep.equal([])
      client.socket.terminate()
    }
  })

  it('brings what an upstream delivers for admins only to who is one at that moment, in order', async () => {
    const [demoted, reset, member] = [await buildOld(true), await buildOld(true), await buildOld()]
    const [due, admin] = [await buildOld(true), await buildOld(true)]
    const users = [demoted, reset, member, due, admin]
    const clients = await Promise.all(users.map(({ token }) => signIn(node.url, token)))
    await change(demoted, 'is_admin = false')
    await change(reset, revocations['a reset'])
    await change(due, 'second_factor_due = true')

    for (const n of [0, 1, 2]) {
      chat.deliver({ users: users.map(({ id }) => id) }, { type: 'chat.alarm', n }, { access: 'admin' })
    }
    chat.deliver(
      { sessions: clients.map(({ ready }) => String(ready.sessionId)) },
      { type: 'chat.last' },
      { access: 'admin' },
    )

    await clients.at(-1)!.take('chat.last')
    expect(clients.at(-1)!.messages.map(({ n }) => n)).to.deep.equal([0, 1, 2])
    for (const client of clients.slice(0, -1)) {
      await client.synchronize()
      expect(client.messages).to.deep.equal([])
    }
    for (const client of clients) client.socket.terminate()
  })

  it('leaves a handshake without ready whose account changed while upstreams gave their parts', async () => {
    const user = await buildOld()
    const asked = Promise.withResolvers<void>()
    const part = Promise.withResolvers<object>()
    await using slowUpstreams = await openUpstreams(cluster, [{ name: 'slow', ready: ['folders'] }])
    const slow = await slowUpstreams.connect('slow')
    slow.onReady(async () => {
      asked.resolve()
      return await part.promise
    })
    const own = await cluster.startNodeWith({
      config: { upstreamsFile: slowUpstreams.path },
      overrides: { timings: { ...quick, readyPartsMs: 60_000 } },
    })
    const opening = signIn(own.url, user.token).then(
      () => 'ready',
      (error: Error) => error.message,
    )

    await asked.promise
    await change(user, revocations['a change of password'])
    part.resolve({ folders: [] })

    expect(await opening).to.equal('closed with 4004 Token has been revoked')
    await own.dispose()
  })

  async function changeSettings(): Promise<void> {
    const bus = await cluster.openBus()
    await bus.publish(settingsChanged, { at: Date.now(), actor: null, changed: ['instanceName'] }, { id: randomUUID() })
  }
})

/** Nothing reads accounts until the returned function was called. */
async function lockUsers({ orm }: Cluster): Promise<() => Promise<void>> {
  const em = orm.em.fork()
  await em.begin()
  await em.execute('lock table users in access exclusive mode')
  return () => em.rollback()
}
