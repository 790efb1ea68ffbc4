import { expect } from 'chai'
import { limits } from '@gatehouse/contracts'
import { signIn } from './client.ts'
import { befriend, buildUser, openCluster, type BuiltUser, type Cluster, type Node } from './harness.ts'

/** Contract: 6, watch. */
describe('a client that watches presences', () => {
  let cluster: Cluster
  let first: Node
  let second: Node

  before(async () => {
    cluster = await openCluster()
    first = await cluster.startNode()
    second = await cluster.startNode()
  })
  after(() => cluster[Symbol.asyncDispose]())

  const watching = { presences: 'watched' }

  it('gets friends in ready, of its spaces those whom it asks for, and of others nothing', async () => {
    const [user, friend, member, other, stranger] = await buildMany(5)
    await befriend(cluster, user!, friend!)
    await shareSpace(user!, member!, other!)
    const present = await Promise.all([friend!, member!, stranger!].map(({ token }) => signIn(second.url, token)))
    const all = await signIn(first.url, user!.token)
    expect(all.ready.presences).to.have.keys([user!.id, friend!.id, member!.id])

    const client = await signIn(first.url, user!.token, watching)
    client.send({ type: 'watch', topic: 'presence', users: [member!.id, other!.id, stranger!.id, friend!.id] })

    expect(client.ready.presences).to.deep.equal(online(user!, friend!))
    expect((await client.take('presences')).presences).to.deep.equal(online(member!, friend!))
    for (const each of [all, client, ...present]) each.socket.terminate()
  })

  it('hears of the watched users from the answer on, until it watches others', async () => {
    const [user, watched, unwatched] = await buildMany(3)
    await shareSpace(user!, watched!, unwatched!)
    const client = await signIn(first.url, user!.token, watching)
    client.send({ type: 'watch', topic: 'presence', users: [watched!.id] })
    expect((await client.take('presences')).presences).to.deep.equal({})
    const all = await signIn(first.url, user!.token)

    const sockets = [await signIn(second.url, unwatched!.token), await signIn(second.url, watched!.token)]
    expect(await all.take('presence_update')).to.include({ userId: unwatched!.id })
    expect(await all.take('presence_update')).to.include({ userId: watched!.id, status: 'online' })
    expect(await client.take('presence_update')).to.include({ userId: watched!.id, status: 'online' })
    client.send({ type: 'watch', topic: 'presence', users: [unwatched!.id] })
    expect((await client.take('presences')).presences).to.deep.equal(online(unwatched!))
    await Promise.all(sockets.map((socket) => socket.close()))
    expect(await client.take('presence_update')).to.include({ userId: unwatched!.id, status: 'offline' })
    await client.synchronize()

    expect(client.messages).to.deep.equal([])
    for (const each of [all, client]) each.socket.terminate()
  })

  it('gets one answer for messages that come together, for the last of them at the end', async () => {
    const [user, one, two] = await buildMany(3)
    await shareSpace(user!, one!, two!)
    const sockets = await Promise.all([one!, two!].map(({ token }) => signIn(second.url, token)))
    const client = await signIn(first.url, user!.token, watching)
    const watch = (...users: BuiltUser[]) => ({ type: 'watch', topic: 'presence', users: users.map(({ id }) => id) })

    client.sendTogether(watch(one!), watch(), watch(two!))

    expect((await client.take('presences')).presences).to.deep.equal(online(two!))
    await client.synchronize()
    // The node may hear of the second member after the answer.
    expect(client.messages.map(({ type }) => type)).to.not.include('presences')
    for (const each of [client, ...sockets]) each.socket.terminate()
  })

  it('gets an error for what is no list of ids, and for a token that is revoked', async () => {
    const user = await buildUser(cluster)
    const client = await signIn(first.url, user.token, watching)
    const tooMany = Array.from({ length: limits.watchedUsers + 1 }, (_, place) => String(place + 1))

    for (const users of [undefined, '1', ['x'], ['-1'], [['1']], tooMany]) {
      client.send({ type: 'watch', topic: 'presence', users })
      expect(await client.take('error')).to.include({ code: 'unknown_topic' })
    }
    client.send({ type: 'watch', topic: 'admin', users: [] })
    expect(await client.take('error')).to.include({ code: 'unknown_topic' })
    await cluster.sql(
      `update users set password_changed_at = (extract(epoch from now()) + 60) * 1000, state_version = state_version + 1
       where id = ?`,
      [user.id],
    )
    client.send({ type: 'watch', topic: 'presence', users: [user.id] })

    expect(await client.take('error')).to.include({ code: 'token_revoked', requestType: 'watch' })
    client.socket.terminate()
  })

  const buildMany = (count: number) => Promise.all(Array.from({ length: count }, () => buildUser(cluster)))

  async function shareSpace(...users: BuiltUser[]): Promise<void> {
    const [row] = await cluster.sql<{ id: string }>('select next_snowflake()::text as id')
    await cluster.sql(`insert into spaces (id, name, owner_id) values (?, 'Space', ?)`, [row!.id, users[0]!.id])
    const ids = `{${users.map(({ id }) => id).join(',')}}`
    await cluster.sql('insert into space_members (space_id, user_id) select ?, unnest(?::bigint[])', [row!.id, ids])
  }
})

const online = (...users: BuiltUser[]) => Object.fromEntries(users.map(({ id }) => [id, 'online']))
