import { eventually, startTcpProxy } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { signIn } from './client.ts'
import { befriend, buildUser, openCluster, quick, statusOf } from './harness.ts'

describe('a session gateway whose connection to NATS was broken', () => {
  it('tells its clients what other nodes published meanwhile, and nothing twice', async () => {
    await using cluster = await openCluster()
    await using proxy = await startTcpProxy(cluster.natsUrl)
    const cutOff = await cluster.startNodeWith({ natsUrl: proxy.url, overrides: { timings: quick } })
    const other = await cluster.startNode()
    const [user, friend, constant] = [await buildUser(cluster), await buildUser(cluster), await buildUser(cluster)]
    await befriend(cluster, user, friend)
    await befriend(cluster, user, constant)
    const watcher = await signIn(cutOff.url, user.token)
    const staying = await signIn(other.url, constant.token)
    expect(await watcher.take('presence_update')).to.include({ userId: constant.id, status: 'online' })
    const leaving = await signIn(other.url, friend.token)
    expect(await watcher.take('presence_update')).to.include({ userId: friend.id, status: 'online' })

    proxy.partition()
    await leaving.close()
    await eventually('the friend is offline', async () => (await statusOf(cluster, friend)) === 'offline')
    proxy.heal()

    expect(await watcher.take('presence_update')).to.include({ userId: friend.id, status: 'offline' })
    await signIn(other.url, friend.token)
    expect(await watcher.take('presence_update')).to.include({ userId: friend.id, status: 'online' })
    await watcher.synchronize()
    expect(watcher.messages).to.deep.equal([])
    for (const client of [watcher, staying]) client.socket.terminate()
  })

  it('tells the others what it published meanwhile', async () => {
    await using cluster = await openCluster()
    await using proxy = await startTcpProxy(cluster.natsUrl)
    const cutOff = await cluster.startNodeWith({ natsUrl: proxy.url, overrides: { timings: quick } })
    const other = await cluster.startNode()
    const [user, friend] = [await buildUser(cluster), await buildUser(cluster)]
    await befriend(cluster, user, friend)
    const watcher = await signIn(other.url, user.token)
    const leaving = await signIn(cutOff.url, friend.token)
    expect(await watcher.take('presence_update')).to.include({ userId: friend.id, status: 'online' })

    proxy.partition()
    await leaving.close()
    await eventually('the friend is offline', async () => (await statusOf(cluster, friend)) === 'offline')
    proxy.heal()

    expect(await watcher.take('presence_update')).to.include({ userId: friend.id, status: 'offline' })
    await watcher.synchronize()
    expect(watcher.messages).to.deep.equal([])
    watcher.socket.terminate()
  })
})
