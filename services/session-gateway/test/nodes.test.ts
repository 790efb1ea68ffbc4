import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { eventually, startEphemeralPostgres } from '@gatehouse/test-kit'
import { prepareDatabase, urlForRole } from '@gatehouse/database'
import { connect, signIn } from './client.ts'
import { befriend, buildUser, openCluster, statusOf, type Cluster } from './harness.ts'

describe('session gateways that start and stop', () => {
  let cluster: Cluster

  before(async () => (cluster = await openCluster()))
  after(() => cluster[Symbol.asyncDispose]())

  it('shows the users of a killed process offline, but for those who reconnected elsewhere', async () => {
    await using survivor = await disposable(cluster, {}, { nodeSilenceMs: 5_000 })
    const [surviving] = await cluster.sql<{ id: string }>('select id from session_nodes')
    await using killed = await startNodeProcess(cluster)
    const [user, moved, friend] = [await buildUser(cluster), await buildUser(cluster), await buildUser(cluster)]
    await befriend(cluster, user, friend)
    await befriend(cluster, moved, friend)
    const watcher = await signIn(survivor.url, friend.token)
    await signIn(killed.url, user.token)
    await signIn(killed.url, moved.token)
    for (const _user of [user, moved]) await watcher.take('presence_update')

    await killed.kill()
    const reconnected = await signIn(survivor.url, moved.token)
    // The time of silence passes.
    await cluster.sql(`update session_nodes set seen_at = now() - interval '6 seconds' where id <> ?`, [surviving!.id])

    expect(await watcher.take('presence_update')).to.include({ userId: user.id, status: 'offline' })
    await eventually('the dead node is evicted', async () => (await nodeCount(cluster)) === 1)
    expect(await statusOf(cluster, user)).to.equal('offline')
    expect(await statusOf(cluster, moved)).to.equal('online')
    expect(watcher.messages).to.deep.equal([])
    for (const client of [watcher, reconnected]) client.socket.terminate()
  })

  it('records its users again after it was frozen and evicted', async () => {
    await using evicting = await disposable(cluster)
    await using frozen = await startNodeProcess(cluster)
    const [user, friend] = [await buildUser(cluster), await buildUser(cluster)]
    await befriend(cluster, user, friend)
    const watcher = await signIn(evicting.url, friend.token)
    const tab = await signIn(frozen.url, user.token)
    expect(await watcher.take('presence_update')).to.include({ userId: user.id, status: 'online' })

    frozen.pause()
    expect(await watcher.take('presence_update')).to.include({ userId: user.id, status: 'offline' })
    frozen.resume()
    await tab.closed
    const again = await signIn(frozen.url, user.token)

    expect(await watcher.take('presence_update')).to.include({ userId: user.id, status: 'online' })
    await watcher.synchronize()
    expect(watcher.messages).to.deep.equal([])
    expect(await statusOf(cluster, user)).to.equal('online')
    for (const client of [again, watcher]) client.socket.terminate()
  })

  it('closes the sockets with 1012 that missed changes while it was frozen and evicted; ready tells the truth', async () => {
    await using evicting = await disposable(cluster)
    await using frozen = await startNodeProcess(cluster)
    const [user, friend] = [await buildUser(cluster), await buildUser(cluster)]
    await befriend(cluster, user, friend)
    const watcher = await signIn(frozen.url, user.token)
    const friendTab = await signIn(evicting.url, friend.token)
    expect(watcher.ready.presences).to.deep.equal({ [user.id]: 'online' })
    expect(await watcher.take('presence_update')).to.include({ userId: friend.id, status: 'online' })

    frozen.pause()
    // What `ready` told may be told once more.
    let update = await friendTab.take('presence_update')
    while (update['status'] === 'online') update = await friendTab.take('presence_update')
    expect(update).to.include({ userId: user.id, status: 'offline' })
    await friendTab.close()
    await eventually('the friend is offline', async () => (await statusOf(cluster, friend)) === 'offline')
    frozen.resume()

    expect(await watcher.closed).to.deep.equal({ code: 1012, reason: 'Server is restarting' })
    const again = await signIn(frozen.url, user.token)
    expect(again.ready.presences).to.deep.equal({ [user.id]: 'online' })
    expect(watcher.messages.filter(({ userId }) => userId === friend.id)).to.deep.equal([])
    again.socket.terminate()
  })

  it('evicts what an earlier run left over, at once when it is the only node', async () => {
    const user = await buildUser(cluster)
    await cluster.sql(`insert into session_nodes (id) values ('00000000-0000-4000-8000-000000000001')`)
    await cluster.sql(`insert into presences values (?, '00000000-0000-4000-8000-000000000001')`, [user.id])
    await cluster.sql(`update users set status = 'online' where id = ?`, [user.id])

    await using _only = await disposable(cluster, { onlyNode: true })

    expect(await statusOf(cluster, user)).to.equal('offline')
    expect(await nodeCount(cluster)).to.equal(1)
  })

  it('drains: closes every socket with 1012, takes no new one, and users who reconnect elsewhere never were offline', async () => {
    await using staying = await disposable(cluster, {}, { graceMs: 1_000, nodeSilenceMs: 1_000 })
    await using leaving = await disposable(cluster, {}, { graceMs: 1_000, nodeSilenceMs: 1_000, drainMs: 200 })
    const [user, gone, friend] = [await buildUser(cluster), await buildUser(cluster), await buildUser(cluster)]
    await befriend(cluster, user, friend)
    await befriend(cluster, gone, friend)
    const watcher = await signIn(staying.url, friend.token)
    const tab = await signIn(leaving.url, user.token)
    const lastTab = await signIn(leaving.url, gone.token)
    for (const _user of [user, gone]) await watcher.take('presence_update')
    const upgrading = await connect(leaving.url)

    const drained = leaving[Symbol.asyncDispose]()
    // So that the gateway opens the next socket at another node, at once.
    const connecting = fetch(`${leaving.url}/healthz`).catch(() => 'refused')
    expect((await tab.closed).code).to.equal(1012)
    expect((await lastTab.closed).code).to.equal(1012)
    expect((await upgrading.closed).code).to.equal(1012)
    const again = await signIn(staying.url, user.token)
    expect(await connecting).to.equal('refused')
    await drained

    expect(await watcher.take('presence_update')).to.include({ userId: gone.id, status: 'offline' })
    await eventually('the node is evicted', async () => (await nodeCount(cluster)) === 1)
    expect(watcher.messages).to.deep.equal([])
    expect(await statusOf(cluster, user)).to.equal('online')
    for (const client of [watcher, again]) client.socket.terminate()
  })

  it('leaves no user online when the last node stops', async () => {
    const user = await buildUser(cluster)
    const last = await cluster.startNode({ graceMs: 600_000 })
    const tab = await signIn(last.url, user.token)

    await last.dispose()

    expect((await tab.closed).code).to.equal(1012)
    expect(await statusOf(cluster, user)).to.equal('offline')
    expect(await nodeCount(cluster)).to.equal(0)
  })

  it('keeps its sockets while PostgreSQL is away, answers handshakes with 1013, and catches up afterwards', async () => {
    await using postgres = await startEphemeralPostgres()
    await prepareDatabase(postgres.url)
    await using other = await openCluster({ databaseUrl: postgres.url })
    const node = await other.startNode()
    const [user, leaver] = [await buildUser(other), await buildUser(other)]
    const tab = await signIn(node.url, user.token)
    const leaving = await signIn(node.url, leaver.token)

    await postgres.stop()
    const refused = await connect(node.url)
    refused.send({ type: 'auth', token: user.token })
    expect((await refused.closed).code).to.equal(1013)
    await leaving.close()
    await tab.synchronize()
    await postgres.start()

    const read = (each: typeof user) => statusOf(other, each).catch(() => 'unknown')
    await eventually('the user who left is offline', async () => (await read(leaver)) === 'offline')
    expect(await read(user)).to.equal('online')
    const reconnected = await signIn(node.url, leaver.token)
    for (const client of [tab, reconnected]) client.socket.terminate()
  })
})

async function disposable(cluster: Cluster, config: { onlyNode?: boolean } = {}, timings = {}) {
  const node = await cluster.startNode(timings, config)
  return { ...node, [Symbol.asyncDispose]: node.dispose }
}

async function nodeCount(cluster: Cluster): Promise<number> {
  return (await cluster.sql('select 1 from session_nodes')).length
}

/** A session gateway as a process of its own, which can be killed and frozen. */
async function startNodeProcess(cluster: Cluster) {
  const given = {
    DATABASE_URL: urlForRole(cluster.databaseUrl, 'session-gateway'),
    NATS_URL: cluster.natsUrl,
    NATS_PREFIX: cluster.natsPrefix,
  }
  const child = spawn(process.execPath, [new URL('node-process.ts', import.meta.url).pathname], {
    env: { ...process.env, ...given },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const lines = createInterface(child.stdout)
  const [url] = (await Promise.race([once(lines, 'line'), exited])) as [string]
  const kill = async () => {
    child.kill('SIGKILL')
    await exited
  }
  return {
    url,
    kill,
    pause: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    [Symbol.asyncDispose]: kill,
  }
}
