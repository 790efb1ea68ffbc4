import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { eventually, privatePostgres } from '@gatehouse/test-kit'
import { connectDatabase, migrateDatabase } from '@gatehouse/database'
import { connect, signIn } from './client.ts'
import { befriend, buildUser, openWorld, statusOf, type World } from './harness.ts'

describe('session gateways that come and go', () => {
  let world: World

  before(async () => (world = await openWorld()))
  after(() => world[Symbol.asyncDispose]())

  it('shows the users of a killed process offline, but for those who came back elsewhere', async () => {
    await using survivor = await disposable(world)
    await using doomed = await startNodeProcess(world)
    const [user, moved, friend] = [await buildUser(world), await buildUser(world), await buildUser(world)]
    await befriend(world, user, friend)
    await befriend(world, moved, friend)
    await signIn(doomed.url, user.token)
    await signIn(doomed.url, moved.token)
    const watcher = await signIn(survivor.url, friend.token)

    await doomed.kill()
    const back = await signIn(survivor.url, moved.token)

    expect(await watcher.take('presence_update')).to.include({ userId: user.id, status: 'offline' })
    await eventually('the dead node is gone', async () => (await nodeCount(world)) === 1)
    expect(await statusOf(world, user)).to.equal('offline')
    expect(await statusOf(world, moved)).to.equal('online')
    expect(watcher.messages).to.deep.equal([])
    for (const client of [watcher, back]) client.socket.terminate()
  })

  it('writes its users down again after it was frozen and taken for dead', async () => {
    await using judging = await disposable(world)
    await using frozen = await startNodeProcess(world)
    const [user, friend] = [await buildUser(world), await buildUser(world)]
    await befriend(world, user, friend)
    const tab = await signIn(frozen.url, user.token)
    const watcher = await signIn(judging.url, friend.token)

    frozen.pause()
    expect(await watcher.take('presence_update')).to.include({ userId: user.id, status: 'offline' })
    frozen.resume()

    expect(await watcher.take('presence_update')).to.include({ userId: user.id, status: 'online' })
    expect(await statusOf(world, user)).to.equal('online')
    for (const client of [tab, watcher]) client.socket.terminate()
  })

  it('clears what an earlier run left, at once when it is the only node', async () => {
    const user = await buildUser(world)
    await world.sql(`insert into session_nodes (id) values ('00000000-0000-4000-8000-000000000001')`)
    await world.sql(`insert into presences values (?, '00000000-0000-4000-8000-000000000001')`, [user.id])
    await world.sql(`update users set status = 'online' where id = ?`, [user.id])

    await using _only = await disposable(world, { onlyNode: true })

    expect(await statusOf(world, user)).to.equal('offline')
    expect(await nodeCount(world)).to.equal(1)
  })

  it('drains: sends everybody away with 1012, takes nobody new, and who comes back elsewhere never was offline', async () => {
    await using staying = await disposable(world, {}, { graceMs: 400 })
    await using leaving = await disposable(world, {}, { graceMs: 400, drainMs: 200 })
    const [user, gone, friend] = [await buildUser(world), await buildUser(world), await buildUser(world)]
    await befriend(world, user, friend)
    await befriend(world, gone, friend)
    const watcher = await signIn(staying.url, friend.token)
    const tab = await signIn(leaving.url, user.token)
    const lastTab = await signIn(leaving.url, gone.token)
    for (const _user of [user, gone]) await watcher.take('presence_update')
    const upgrading = await connect(leaving.url)

    const drained = leaving[Symbol.asyncDispose]()
    expect((await tab.closed).code).to.equal(1012)
    expect((await lastTab.closed).code).to.equal(1012)
    expect((await upgrading.closed).code).to.equal(1012)
    const again = await signIn(staying.url, user.token)
    await drained

    expect(await watcher.take('presence_update')).to.include({ userId: gone.id, status: 'offline' })
    await eventually('the node is cleared away', async () => (await nodeCount(world)) === 1)
    expect(watcher.messages).to.deep.equal([])
    expect(await statusOf(world, user)).to.equal('online')
    for (const client of [watcher, again]) client.socket.terminate()
  })

  it('leaves nobody online when the last node stops', async () => {
    const user = await buildUser(world)
    const last = await world.startNode({ graceMs: 600_000 })
    const tab = await signIn(last.url, user.token)

    await last.dispose()

    expect((await tab.closed).code).to.equal(1012)
    expect(await statusOf(world, user)).to.equal('offline')
    expect(await nodeCount(world)).to.equal(0)
  })

  it('keeps its sockets while PostgreSQL is away, answers handshakes with 1013, and catches up afterwards', async () => {
    await using postgres = await privatePostgres()
    const orm = await connectDatabase({ url: postgres.url })
    await migrateDatabase(orm)
    await orm.close(true)
    await using other = await openWorld({ databaseUrl: postgres.url })
    const node = await other.startNode()
    const [user, leaver] = [await buildUser(other), await buildUser(other)]
    const tab = await signIn(node.url, user.token)
    const leaving = await signIn(node.url, leaver.token)

    await postgres.stop()
    const refused = await connect(node.url)
    refused.send({ type: 'auth', token: user.token })
    expect((await refused.closed).code).to.equal(1013)
    await leaving.close()
    tab.send({ type: 'ping' })
    await tab.take('pong')
    await postgres.start()

    const read = (who: typeof user) => statusOf(other, who).catch(() => 'unknown')
    await eventually('who left is offline', async () => (await read(leaver)) === 'offline', 10_000)
    expect(await read(user)).to.equal('online')
    const back = await signIn(node.url, leaver.token)
    for (const client of [tab, back]) client.socket.terminate()
  })
})

async function disposable(world: World, config: { onlyNode?: boolean } = {}, timings = {}) {
  const node = await world.startNode({ nodeSilenceMs: 400, ...timings }, config)
  return { ...node, [Symbol.asyncDispose]: node.dispose }
}

async function nodeCount(world: World): Promise<number> {
  return (await world.sql('select 1 from session_nodes')).length
}

/** A session gateway as a process of its own, which can be killed and frozen. */
async function startNodeProcess(world: World) {
  const given = { DATABASE_URL: world.databaseUrl, NATS_URL: world.natsUrl, NATS_PREFIX: world.natsPrefix }
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
