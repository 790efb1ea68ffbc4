import { expect } from 'chai'
import { presenceRecorded } from '@gatehouse/contracts'
import { eventually } from '@gatehouse/test-kit'
import { connect, signIn, type Client } from './client.ts'
import { befriend, buildUser, openCluster, statusOf, type BuiltUser, type Cluster, type Node } from './harness.ts'

const native = { homeUserId: null, homeInstance: null }
const otherNodeId = '0b5d3c1e-6a0f-4d57-9d0c-7a4f2c9e8b11'

describe('presence on several session gateways', () => {
  let cluster: Cluster
  let first: Node
  let second: Node

  before(async () => {
    cluster = await openCluster()
    first = await cluster.startNode()
    second = await cluster.startNode()
  })
  after(() => cluster[Symbol.asyncDispose]())

  it('tells friends, DM co-members and space co-members on another node, and no other user', async () => {
    const [user, friend, befriended, dmMember, spaceMember, stranger] = await buildMany(cluster, 6)
    await befriend(cluster, user!, friend!)
    await befriend(cluster, befriended!, user!)
    await shareDm(cluster, user!, dmMember!)
    await shareSpace(cluster, user!, spaceMember!)
    const watchers = await signInAll(second, [friend!, befriended!, dmMember!, spaceMember!])
    const outsider = await signIn(second.url, stranger!.token)

    const client = await signIn(first.url, user!.token)
    for (const watcher of watchers) {
      expect(await watcher.take('presence_update')).to.deep.include({ userId: user!.id, status: 'online', ...native })
    }
    await client.close()
    for (const watcher of watchers) {
      expect(await watcher.take('presence_update')).to.deep.include({ userId: user!.id, status: 'offline' })
    }

    const present = [user!, friend!, befriended!, dmMember!, spaceMember!].map(({ id }) => [id, 'online'])
    expect(client.ready.presences).to.deep.equal(Object.fromEntries(present))
    expect(outsider.messages).to.deep.equal([])
    // Its node may hear of the watchers after the `ready` that already named them.
    const told = client.messages.map(({ userId, status }) => [userId, status])
    expect(present).to.deep.include.members(told)
    expect(told).to.not.deep.include([user!.id, 'online'])
    expect(await statusOf(cluster, user!)).to.equal('offline')
    terminate(...watchers, outsider)
  })

  it('tells an audience of thousands on other nodes with one message for all of them', async () => {
    const user = await buildUser(cluster)
    const friendIds = await befriendOnlineUsers(cluster, user, { size: 3_000, nodeId: otherNodeId })
    const bus = await cluster.openBus()
    const told: string[] = []
    await using _receiving = await bus.subscribe(presenceRecorded, async ({ name }) => {
      told.push(name)
    })

    const client = await signIn(first.url, user.token)
    await client.close()
    await eventually('both changes to be broadcast', () => told.length === 2)

    expect(Object.keys(client.ready.presences as object)).to.have.members([user.id, ...friendIds])
    expect(told).to.deep.equal(['PresenceRecorded', 'PresenceRecorded'])
  })

  it('says nothing of a second connection, nor of one that comes back within the grace period elsewhere', async () => {
    const { node: leaving, timer } = await cluster.startNodeWithTimer()
    const [user, friend] = await buildFriends(cluster)
    const watcher = await signIn(second.url, friend.token)
    const one = await signIn(leaving.url, user.token)
    expect(await watcher.take('presence_update')).to.include({ status: 'online' })

    await one.close()
    const two = await signIn(first.url, user.token)
    const three = await signIn(leaving.url, user.token)
    await two.close()
    await eventually('only the third is recorded', async () => (await nodesOf(cluster, user)) === 1)
    timer.advance(20_000)
    await three.synchronize()

    expect(watcher.messages).to.deep.equal([])
    expect(await statusOf(cluster, user)).to.equal('online')
    terminate(watcher, three)
    await leaving.dispose()
  })

  it('broadcasts exactly one offline when tabs on two nodes close at once', async () => {
    const [user, friend] = await buildFriends(cluster)
    const watcher = await signIn(first.url, friend.token)

    for (let round = 0; round < 20; round += 1) {
      const tabs = await Promise.all([first, second, first, second].map((node) => signIn(node.url, user.token)))
      await Promise.all(tabs.map((tab) => tab.close()))
      await eventually('the user is offline', async () => (await statusOf(cluster, user)) === 'offline')
      expect(await nodesOf(cluster, user)).to.equal(0)
      // A change that arrives after a newer one is dropped: the next round waits for both of this one.
      await eventually('both changes of the round', () => watcher.messages.length === 2 * (round + 1))
    }

    await watcher.synchronize()
    const statuses = watcher.messages.map(({ status }) => status)
    expect(statuses).to.deep.equal(Array.from({ length: 20 }, () => ['online', 'offline']).flat())
    terminate(watcher)
  })

  it('agrees with the sockets in the end, whatever opens and closes on both nodes at the same time', async () => {
    const users = await buildMany(cluster, 12)
    const open: Client[] = []

    await Promise.all(
      users.flatMap((user, place) =>
        [first, second].map(async (node, other) => {
          for (let round = 0; round < 6; round += 1) {
            const client = await signIn(node.url, user.token)
            const stays = round === 5 && place % 2 === 0 && other === 1
            if (stays) open.push(client)
            else client.socket.terminate()
          }
        }),
      ),
    )

    await eventually('status and sockets agree', async () => {
      const statuses = await Promise.all(users.map((user) => statusOf(cluster, user)))
      return statuses.every((status, place) => status === (place % 2 === 0 ? 'online' : 'offline'))
    })
    terminate(...open)
  })

  it('tells the own other connections, and not the one that made the change', async () => {
    const user = await buildUser(cluster)
    const one = await signIn(second.url, user.token)
    await cluster.sql(`update users set status = 'offline' where id = ?`, [user.id])

    const other = await signIn(first.url, user.token)

    expect(await one.take('presence_update')).to.deep.include({ userId: user.id, status: 'online' })
    await other.synchronize()
    expect(other.messages).to.deep.equal([])
    terminate(one, other)
  })

  it('tells two users who connect at the same time of each other', async () => {
    for (let round = 0; round < 20; round += 1) {
      const [one, other] = await buildFriends(cluster)

      const clients = await Promise.all([signIn(first.url, one.token), signIn(second.url, other.token)])

      for (const [client, friend] of [[clients[0], other] as const, [clients[1], one] as const]) {
        await eventually('each sees the other', () => sees(client, friend))
      }
      terminate(...clients)
    }
  })

  it('leaves nothing of a user whose sockets close during the handshake', async () => {
    const user = await buildUser(cluster)
    for (let round = 0; round < 20; round += 1) {
      const client = await connect(first.url)
      client.send({ type: 'auth', token: user.token })
      client.socket.terminate()
    }

    await eventually('nothing is left of it', async () => {
      return (await nodesOf(cluster, user)) === 0 && (await statusOf(cluster, user)) === 'offline'
    })
  })
})

const terminate = (...clients: Client[]) => clients.forEach((client) => client.socket.terminate())

const signInAll = (node: Node, users: BuiltUser[]) => Promise.all(users.map((user) => signIn(node.url, user.token)))

const buildMany = (cluster: Cluster, count: number) =>
  Promise.all(Array.from({ length: count }, () => buildUser(cluster)))

async function buildFriends(cluster: Cluster): Promise<[BuiltUser, BuiltUser]> {
  const pair: [BuiltUser, BuiltUser] = [await buildUser(cluster), await buildUser(cluster)]
  await befriend(cluster, ...pair)
  return pair
}

async function nodesOf(cluster: Cluster, user: BuiltUser): Promise<number> {
  return (await cluster.sql('select 1 from presences where user_id = ?', [user.id])).length
}

function sees(client: Awaited<ReturnType<typeof signIn>>, friend: BuiltUser): boolean {
  const atReady = (client.ready.presences as Record<string, string>)[friend.id]
  const change = client.messages.filter(({ userId }) => userId === friend.id).at(-1)
  return (change?.status ?? atReady) === 'online'
}

async function shareDm(cluster: Cluster, one: BuiltUser, other: BuiltUser): Promise<void> {
  const [row] = await cluster.sql<{ id: string }>('select next_snowflake()::text as id')
  await cluster.sql('insert into dm_channels (id) values (?)', [row!.id])
  for (const user of [one, other]) {
    await cluster.sql('insert into dm_members (channel_id, user_id) values (?, ?)', [row!.id, user.id])
  }
}

async function shareSpace(cluster: Cluster, one: BuiltUser, other: BuiltUser): Promise<void> {
  const [row] = await cluster.sql<{ id: string }>('select next_snowflake()::text as id')
  await cluster.sql(`insert into spaces (id, name, owner_id) values (?, 'Space', ?)`, [row!.id, one.id])
  for (const user of [one, other]) {
    await cluster.sql('insert into space_members (space_id, user_id) values (?, ?)', [row!.id, user.id])
  }
}

/** Friends who are all connected on a node that is not one of these processes. Gives their ids. */
async function befriendOnlineUsers(
  cluster: Cluster,
  user: BuiltUser,
  { size, nodeId }: { size: number; nodeId: string },
): Promise<string[]> {
  await cluster.sql(`insert into session_nodes (id, seen_at) values (?, now() + interval '1 hour')`, [nodeId])
  const friends = await cluster.sql<{ id: string }>(
    `insert into users (id, username, password_hash) select next_snowflake(), 'friend' || n, '!none'
     from generate_series(1, ?) as n returning id::text`,
    [size],
  )
  const ids = friends.map(({ id }) => id)
  const list = `{${ids.join(',')}}`
  await cluster.sql('insert into friendships (user_id, friend_id) select ?, unnest(?::bigint[])', [user.id, list])
  await cluster.sql('insert into presences (user_id, node_id) select unnest(?::bigint[]), ?', [list, nodeId])
  return ids
}
