import { randomUUID } from 'node:crypto'
import { profileChanged } from '@gatehouse/contracts'
import { expect } from 'chai'
import { signIn } from './client.ts'
import { befriend, buildUser, openCluster, stateOf, type BuiltUser, type Cluster } from './harness.ts'

/** Contract: 6, user_updated. */
describe('A changed profile', () => {
  let cluster: Cluster
  before(async () => void (cluster = await openCluster()))
  after(() => cluster[Symbol.asyncDispose]())

  async function rename(user: BuiltUser, displayName: string, changed = ['displayName']): Promise<void> {
    await cluster.sql('update users set display_name = ?, show_activity = false where id = ?', [displayName, user.id])
    const bus = await cluster.openBus()
    const payload = {
      userId: user.id,
      at: Date.now(),
      state: await stateOf(cluster, user),
      profileUpdatedAt: 1,
      changed,
    }
    await bus.publish(profileChanged, payload, { id: randomUUID() })
  }

  it('is told, on every node, to those who see the presence and in the own view to the own sockets, and to nobody else', async () => {
    const nodes = [await cluster.startNode(), await cluster.startNode()]
    const [user, friend, member, stranger] = await Promise.all(Array.from({ length: 4 }, () => buildUser(cluster)))
    await befriend(cluster, friend!, user!)
    await cluster.sql("insert into spaces (id, name, owner_id) values (?, 'S', ?)", [member!.id, member!.id])
    for (const { id } of [user!, member!])
      await cluster.sql('insert into space_members (space_id, user_id) values (?, ?)', [member!.id, id])
    const own = await signIn(nodes[0]!.url, user!.token)
    const ownElsewhere = await signIn(nodes[1]!.url, user!.token)
    const others = [await signIn(nodes[0]!.url, friend!.token), await signIn(nodes[1]!.url, member!.token)]
    const unseeing = await signIn(nodes[1]!.url, stranger!.token)

    await rename(user!, 'Ada L.')

    for (const socket of [own, ownElsewhere]) {
      const { user: told } = (await socket.take('user_updated')) as unknown as { user: Record<string, unknown> }
      expect(told).to.include({ id: user!.id, displayName: 'Ada L.', showActivity: false })
    }
    for (const socket of others) {
      const { user: told } = (await socket.take('user_updated')) as unknown as { user: Record<string, unknown> }
      expect(told).to.include({ id: user!.id, displayName: 'Ada L.', username: user!.username })
      expect(told).not.to.have.any.keys('showActivity', 'passwordChangedAt', 'secondFactor')
    }
    await rename(stranger!, 'Eve')
    await unseeing.take('user_updated')
    expect(unseeing.messages.filter(({ type }) => type === 'user_updated')).to.deep.equal([])
    for (const socket of [own, ownElsewhere, ...others, unseeing]) socket.socket.terminate()
  })

  it('that only its person sees is told to the own sockets alone', async () => {
    const node = await cluster.startNode()
    const [user, friend] = [await buildUser(cluster), await buildUser(cluster)]
    await befriend(cluster, friend, user)
    const [own, other] = [await signIn(node.url, user.token), await signIn(node.url, friend.token)]

    await rename(user, 'Ada', ['showActivity'])
    await own.take('user_updated')
    await rename(user, 'Ada', ['displayName'])
    await own.take('user_updated')

    await other.take('user_updated')
    await other.synchronize()
    expect(other.messages.filter(({ type }) => type === 'user_updated')).to.deep.equal([])
    for (const socket of [own, other]) socket.socket.terminate()
  })
})
