import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { presenceRecorded, remotePresenceReported } from '@gatehouse/contracts'
import { createServiceClient, eventually } from '@gatehouse/test-kit'
import { movableClock, type MovableClock } from '@gatehouse/test-kit/time'
import { signIn, type Client, type Message } from './client.ts'
import { befriend, buildUser, openCluster, quick, statusOf, type BuiltUser, type Cluster } from './harness.ts'

const homeInstance = 'home.example'

describe('presence that peers report', () => {
  let cluster: Cluster
  let clock: MovableClock

  before(async () => {
    cluster = await openCluster()
  })
  beforeEach(() => {
    clock = movableClock()
  })
  after(() => cluster[Symbol.asyncDispose]())

  const startNode = () => cluster.startNodeWith({ clock, overrides: { timings: { ...quick, expiryMs: 10 } } })

  async function buildReported(): Promise<{
    friend: BuiltUser
    remote: BuiltUser
    home: { homeUserId: string; homeInstance: string }
    report: ReturnType<typeof reporter>
  }> {
    const home = { homeUserId: randomUUID(), homeInstance }
    const [friend, remote] = [await buildUser(cluster), await buildUser(cluster, Date.now(), home)]
    await befriend(cluster, friend, remote)
    return { friend, remote, home, report: reporter(await cluster.openBus(), remote) }
  }

  const reporter =
    (bus: Awaited<ReturnType<Cluster['openBus']>>, remote: BuiltUser) =>
    (status: 'online' | 'offline', { id: userId } = remote) =>
      void bus.publish(remotePresenceReported, { userId, status, until: clock.now() + 60_000 })

  /** Contract: 3, upstreams. */
  it('is told to upstreams that ask, as that of the users here, and only who is online', async () => {
    const node = await startNode()
    const { friend, remote, report } = await buildReported()
    const gone = await buildUser(cluster)
    await cluster.sql(`update users set is_deleted = true, status = 'online' where id = ?`, [gone.id])
    const [client] = [await signIn(node.url, friend.token)]
    report('online')
    const call = createServiceClient({ name: 'session-gateway', url: node.url, clock })
    const ask = (ids: unknown, rights = ['presence']) =>
      call('POST', '/api/upstream/presence', { rights, body: { ids } })
    const ids = [friend.id, remote.id, gone.id, (await buildUser(cluster)).id, '1']
    const both = { presences: { [friend.id]: 'online', [remote.id]: 'online' } }

    await eventually('both are online', async () => Object.keys((await ask(ids)).body['presences']!).length === 2)
    expect((await ask(ids)).body).to.deep.equal(both)
    await client.close()
    await eventually('one is left', async () => Object.keys((await ask(ids)).body['presences']!).length === 1)
    const many = Array.from({ length: 1_001 }, (_, index) => String(index + 1))
    expect((await ask(many)).status).to.equal(400)
    expect((await ask(many.slice(1))).status).to.equal(200)
    expect((await ask(ids, ['accounts'])).body['code']).to.equal('right_missing')
    expect((await call('POST', '/api/upstream/presence', { as: friend, body: { ids } })).status).to.equal(401)
  })

  it('is sent to the audience on every node and stands in ready, until it ends by time; the status stays', async () => {
    const [first, second] = [await startNode(), await startNode()]
    const { friend, remote, home, report } = await buildReported()
    const clients = [await signIn(first.url, friend.token), await signIn(second.url, friend.token)]
    const stranger = await signIn(first.url, (await buildUser(cluster)).token)

    report('online')

    const online = { type: 'presence_update', userId: remote.id, status: 'online', ...home }
    // The own status may still follow the first socket's.
    const ofOthers = (message: Message) => message['userId'] !== friend.id
    const takeUpdate = async (client: Client) => {
      let update = await client.take('presence_update')
      while (!ofOthers(update)) update = await client.take('presence_update')
      return update
    }
    for (const client of clients) expect(await takeUpdate(client)).to.deep.equal(online)
    const later = await signIn(first.url, friend.token)
    expect(later.ready.presences).to.deep.equal({ [friend.id]: 'online', [remote.id]: 'online' })
    expect(await statusOf(cluster, remote)).to.equal('offline')
    clock.advance(59_999)
    for (const client of clients) await client.synchronize()
    expect(clients.flatMap(({ messages }) => messages).filter(ofOthers)).to.deep.equal([])
    clock.advance(1)
    for (const client of [...clients, later]) {
      expect(await takeUpdate(client)).to.deep.equal({ ...online, status: 'offline' })
    }
    await stranger.synchronize()
    expect(stranger.messages).to.deep.equal([])
    for (const client of [...clients, later, stranger]) client.socket.terminate()
  })

  it('ends with a report of offline, and says nothing twice', async () => {
    const node = await startNode()
    const { friend, remote, report } = await buildReported()
    const client = await signIn(node.url, friend.token)

    report('online')
    report('online')
    expect(await client.take('presence_update')).to.include({ userId: remote.id, status: 'online' })
    report('online')
    report('offline')

    expect(await client.take('presence_update')).to.include({ userId: remote.id, status: 'offline' })
    await client.synchronize()
    expect(client.messages).to.deep.equal([])
    client.socket.terminate()
  })

  it('does not take offline a user who is connected here, nor does a disconnect here one who is not offline there', async () => {
    const node = await startNode()
    const { friend, remote, report } = await buildReported()
    const client = await signIn(node.url, friend.token)
    const announceAnother = async () => {
      const another = await buildUser(cluster)
      await befriend(cluster, friend, another)
      // From the same connection: what was reported before it is announced by then.
      report('online', another)
      expect(await client.take('presence_update')).to.include({ userId: another.id, status: 'online' })
    }
    const here = await signIn(node.url, remote.token)
    expect(await client.take('presence_update')).to.include({ status: 'online' })

    report('online')
    report('offline')
    report('online')
    await announceAnother()
    const offline = await awaitOffline(remote)
    await here.close()
    await offline.published
    report('offline')

    expect(await client.take('presence_update')).to.include({ userId: remote.id, status: 'offline' })
    await client.synchronize()
    expect(client.messages).to.deep.equal([])
    client.socket.terminate()
  })

  /** The node that publishes it has taken it by then. */
  async function awaitOffline(user: BuiltUser): Promise<{ published: Promise<void> }> {
    const bus = await cluster.openBus()
    const { promise, resolve } = Promise.withResolvers<void>()
    await bus.subscribe(presenceRecorded, async () => {
      if ((await statusOf(cluster, user)) === 'offline') resolve()
    })
    return { published: promise }
  }
})
