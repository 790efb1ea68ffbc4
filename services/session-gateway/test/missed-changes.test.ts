import { eventually, startTcpProxy, type TcpProxy } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { signIn, type Client } from './client.ts'
import { befriend, buildUser, openCluster, quick, statusOf } from './harness.ts'
import type { BuiltUser, Cluster, Node } from './harness.ts'

describe('a session gateway whose connection to NATS was broken', () => {
  let cluster: Cluster
  let proxy: TcpProxy
  let cutOff: Node
  let other: Node
  let user: BuiltUser
  let friend: BuiltUser

  beforeEach(async () => {
    cluster = await openCluster()
    proxy = await startTcpProxy(cluster.natsUrl)
    cutOff = await cluster.startNodeWith({ natsUrl: proxy.url, overrides: { timings: quick } })
    other = await cluster.startNode()
    user = await buildUser(cluster)
    friend = await buildUser(cluster)
    await befriend(cluster, user, friend)
  })
  afterEach(async () => {
    await cluster[Symbol.asyncDispose]()
    await proxy[Symbol.asyncDispose]()
  })

  async function leaveMeanwhile(leaving: Client): Promise<void> {
    proxy.partition()
    await leaving.close()
    await eventually('the friend is offline', async () => (await statusOf(cluster, friend)) === 'offline')
    proxy.heal()
  }

  it('tells its clients what other nodes published meanwhile, and nothing twice', async () => {
    const constant = await buildUser(cluster)
    await befriend(cluster, user, constant)
    const watcher = await signIn(cutOff.url, user.token)
    const staying = await signIn(other.url, constant.token)
    expect(await watcher.take('presence_update')).to.include({ userId: constant.id, status: 'online' })
    const leaving = await signIn(other.url, friend.token)
    expect(await watcher.take('presence_update')).to.include({ userId: friend.id, status: 'online' })

    await leaveMeanwhile(leaving)

    expect(await watcher.take('presence_update')).to.include({ userId: friend.id, status: 'offline' })
    await signIn(other.url, friend.token)
    expect(await watcher.take('presence_update')).to.include({ userId: friend.id, status: 'online' })
    await watcher.synchronize()
    expect(watcher.messages).to.deep.equal([])
    for (const client of [watcher, staying]) client.socket.terminate()
  })

  it('tells the others what it published meanwhile', async () => {
    const watcher = await signIn(other.url, user.token)
    const leaving = await signIn(cutOff.url, friend.token)
    expect(await watcher.take('presence_update')).to.include({ userId: friend.id, status: 'online' })

    await leaveMeanwhile(leaving)

    expect(await watcher.take('presence_update')).to.include({ userId: friend.id, status: 'offline' })
    await watcher.synchronize()
    expect(watcher.messages).to.deep.equal([])
    watcher.socket.terminate()
  })
})
