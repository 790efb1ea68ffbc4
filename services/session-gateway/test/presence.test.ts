import { expect } from 'chai'
import { presenceChanged } from '@gatehouse/contracts'
import { eventually } from '@gatehouse/test-kit'
import { connect, keepKnocking, signIn, type Client } from './client.ts'
import { befriend, buildUser, openWorld, statusOf, tokenFor, type BuiltUser, type Node, type World } from './harness.ts'

const crowdedNode = '0b5d3c1e-6a0f-4d57-9d0c-7a4f2c9e8b11'

describe('presence on several session gateways', () => {
  let world: World
  let first: Node
  let second: Node

  before(async () => {
    world = await openWorld()
    first = await world.startNode()
    second = await world.startNode()
  })
  after(() => world[Symbol.asyncDispose]())

  it('tells friends, DM co-members and space co-members who are elsewhere, and nobody else', async () => {
    const [user, friend, befriended, dmMember, spaceMember, stranger] = await buildMany(world, 6)
    await befriend(world, user!, friend!)
    await befriend(world, befriended!, user!)
    await shareDm(world, user!, dmMember!)
    await shareSpace(world, user!, spaceMember!)
    const watchers = await signInAll(second, [friend!, befriended!, dmMember!, spaceMember!])
    const outsider = await signIn(second.url, stranger!.token)

    const client = await signIn(first.url, user!.token)
    for (const watcher of watchers) {
      expect(await watcher.take('presence_update')).to.deep.include({ userId: user!.id, status: 'online' })
    }
    await client.close()
    for (const watcher of watchers) {
      expect(await watcher.take('presence_update')).to.deep.include({ userId: user!.id, status: 'offline' })
    }

    const present = [user!, friend!, befriended!, dmMember!, spaceMember!].map(({ id }) => [id, 'online'])
    expect(client.ready.presences).to.deep.equal(Object.fromEntries(present))
    expect(outsider.messages).to.deep.equal([])
    expect(client.messages).to.deep.equal([])
    expect(await statusOf(world, user!)).to.equal('offline')
    terminate(...watchers, outsider)
  })

  it('tells an audience of thousands on another node with one message for all of them', async () => {
    const user = await buildUser(world)
    const friendIds = await befriendPresentCrowd(world, user, { size: 3_000, nodeId: crowdedNode })
    const bus = await world.bus()
    const deliveries: (readonly string[])[] = []
    await using _hearing = await bus.hear(
      presenceChanged,
      async ({ payload }) => void (payload.userId === user.id && deliveries.push(payload.recipients)),
      { as: crowdedNode },
    )

    const client = await signIn(first.url, user.token)
    await client.close()
    await eventually('both changes to be told', () => deliveries.length === 2)

    expect(Object.keys(client.ready.presences as object)).to.have.members([user.id, ...friendIds])
    for (const recipients of deliveries) expect(recipients).to.have.members(friendIds)
  })

  it('says nothing of a second connection, nor of one that comes back within the grace period elsewhere', async () => {
    const patient = await world.startNode({ graceMs: 400 })
    const [user, friend] = await buildFriends(world)
    const watcher = await signIn(second.url, friend.token)
    const one = await signIn(patient.url, user.token)
    expect(await watcher.take('presence_update')).to.include({ status: 'online' })

    await one.close()
    const two = await signIn(first.url, user.token)
    const three = await signIn(patient.url, user.token)
    await two.close()
    await eventually('only the third is written down', async () => (await nodesOf(world, user)) === 1)

    expect(watcher.messages).to.deep.equal([])
    expect(await statusOf(world, user)).to.equal('online')
    terminate(watcher, three)
    await patient.dispose()
  })

  it('does not prolong the grace for those who are turned away', async () => {
    const patient = await world.startNode({ graceMs: 400 })
    const user = await buildUser(world, Date.now() - 60_000)
    const tab = await signIn(patient.url, tokenFor(user))
    await world.sql('update users set password_changed_at = ? where id = ?', [Date.now() - 30_000, user.id])

    const knocking = keepKnocking(patient.url, user.token)
    await tab.close()

    await eventually('the user to be offline', async () => (await statusOf(world, user)) === 'offline')
    await knocking.stop()
    await patient.dispose()
  })

  it('broadcasts exactly one offline when tabs on two nodes close at once', async () => {
    const [user, friend] = await buildFriends(world)
    const watcher = await signIn(first.url, friend.token)

    for (let round = 0; round < 20; round += 1) {
      const tabs = await Promise.all([first, second, first, second].map((node) => signIn(node.url, user.token)))
      await Promise.all(tabs.map((tab) => tab.close()))
      await eventually('the user is offline', async () => (await statusOf(world, user)) === 'offline')
      expect(await nodesOf(world, user)).to.equal(0)
    }

    await eventually('the last news', () => watcher.messages.length === 40)
    const statuses = watcher.messages.map(({ status }) => status)
    expect(statuses).to.deep.equal(Array.from({ length: 20 }, () => ['online', 'offline']).flat())
    terminate(watcher)
  })

  it('agrees with the sockets in the end, whatever came and went on both nodes at the same time', async () => {
    const users = await buildMany(world, 12)
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
      const statuses = await Promise.all(users.map((user) => statusOf(world, user)))
      return statuses.every((status, place) => status === (place % 2 === 0 ? 'online' : 'offline'))
    })
    terminate(...open)
  })

  it('never leaves two who come at once with a wrong picture of each other', async () => {
    for (let round = 0; round < 20; round += 1) {
      const [one, other] = await buildFriends(world)

      const clients = await Promise.all([signIn(first.url, one.token), signIn(second.url, other.token)])

      for (const [client, friend] of [[clients[0], other] as const, [clients[1], one] as const]) {
        await eventually('each sees the other', () => knows(client, friend))
      }
      terminate(...clients)
    }
  })

  it('keeps presence going while one user vanishes during the handshake', async () => {
    const user = await buildUser(world)
    for (let round = 0; round < 20; round += 1) {
      const client = await connect(first.url)
      client.send({ type: 'auth', token: user.token })
      client.socket.terminate()
    }

    await eventually('nothing is left of it', async () => {
      return (await nodesOf(world, user)) === 0 && (await statusOf(world, user)) === 'offline'
    })
  })
})

const terminate = (...clients: Client[]) => clients.forEach((client) => client.socket.terminate())

const signInAll = (node: Node, users: BuiltUser[]) => Promise.all(users.map((user) => signIn(node.url, user.token)))

const buildMany = (world: World, count: number) => Promise.all(Array.from({ length: count }, () => buildUser(world)))

async function buildFriends(world: World): Promise<[BuiltUser, BuiltUser]> {
  const pair: [BuiltUser, BuiltUser] = [await buildUser(world), await buildUser(world)]
  await befriend(world, ...pair)
  return pair
}

async function nodesOf(world: World, user: BuiltUser): Promise<number> {
  return (await world.sql('select 1 from presences where user_id = ?', [user.id])).length
}

function knows(client: Awaited<ReturnType<typeof signIn>>, friend: BuiltUser): boolean {
  const atReady = (client.ready.presences as Record<string, string>)[friend.id]
  const news = client.messages.filter(({ userId }) => userId === friend.id).at(-1)
  return (news?.status ?? atReady) === 'online'
}

async function shareDm(world: World, one: BuiltUser, other: BuiltUser): Promise<void> {
  const [row] = await world.sql<{ id: string }>('select next_snowflake()::text as id')
  await world.sql('insert into dm_channels (id) values (?)', [row!.id])
  for (const user of [one, other]) {
    await world.sql('insert into dm_members (channel_id, user_id) values (?, ?)', [row!.id, user.id])
  }
}

async function shareSpace(world: World, one: BuiltUser, other: BuiltUser): Promise<void> {
  const [row] = await world.sql<{ id: string }>('select next_snowflake()::text as id')
  await world.sql(`insert into spaces (id, name, owner_id) values (?, 'Space', ?)`, [row!.id, one.id])
  for (const user of [one, other]) {
    await world.sql('insert into space_members (space_id, user_id) values (?, ?)', [row!.id, user.id])
  }
}

/** Friends who are all connected on a node that is not one of these processes. Gives their ids. */
async function befriendPresentCrowd(
  world: World,
  user: BuiltUser,
  { size, nodeId }: { size: number; nodeId: string },
): Promise<string[]> {
  await world.sql(`insert into session_nodes (id, seen_at) values (?, now() + interval '1 hour')`, [nodeId])
  const crowd = await world.sql<{ id: string }>(
    `insert into users (id, username, password_hash) select next_snowflake(), 'crowd' || n, '!none'
     from generate_series(1, ?) as n returning id::text`,
    [size],
  )
  const ids = crowd.map(({ id }) => id)
  const list = `{${ids.join(',')}}`
  await world.sql('insert into friendships (user_id, friend_id) select ?, unnest(?::bigint[])', [user.id, list])
  await world.sql('insert into presences (user_id, node_id) select unnest(?::bigint[]), ?', [list, nodeId])
  return ids
}
