import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { accountSessionsEnded } from '@gatehouse/contracts'
import { privateNats, eventually } from '@gatehouse/test-kit'
import { connect, keepKnocking, signIn, type Client } from './client.ts'
import { befriend, buildUser, openWorld, statusOf, tokenFor, type BuiltUser, type Node, type World } from './harness.ts'

describe('forced disconnects', () => {
  let world: World
  let first: Node
  let second: Node
  let bus: Awaited<ReturnType<World['bus']>>

  before(async () => {
    world = await openWorld()
    first = await world.startNode({ graceMs: 600_000 })
    second = await world.startNode({ graceMs: 600_000 })
    bus = await world.bus()
  })
  after(() => world[Symbol.asyncDispose]())

  const publishEnd = (userId: string, reason: 'password_reset' | 'account_deleted', audience?: string[]) =>
    bus.publish(
      accountSessionsEnded,
      { userId, reason, at: Date.now(), ...(audience && { audience }) },
      { id: randomUUID() },
    )

  it('Admin reset 3: closes every socket on every node with 4010, and shows the user offline at once', async () => {
    const [user, friend] = [await buildUser(world, Date.now() - 5_000), await buildUser(world)]
    await befriend(world, user, friend)
    const watcher = await signIn(second.url, friend.token)
    const tabs = await Promise.all([first, second, first].map((node) => signIn(node.url, user.token)))

    await endByReset(world, user)
    await publishEnd(user.id, 'password_reset')

    for (const tab of tabs) expect(await tab.closed).to.deep.equal({ code: 4010, reason: 'Password reset' })
    await watcher.take('presence_update')
    expect(await watcher.take('presence_update')).to.include({ userId: user.id, status: 'offline' })
    expect(await statusOf(world, user)).to.equal('offline')
    watcher.socket.terminate()
  })

  it('Admin reset 3: shows the user offline at once, whoever keeps knocking with the dead token', async () => {
    const user = await buildUser(world, Date.now() - 5_000)
    const tab = await signIn(first.url, user.token)

    await endByReset(world, user)
    const knocking = keepKnocking(first.url, user.token)
    await publishEnd(user.id, 'password_reset')
    await tab.closed

    await eventually('the user to be offline', async () => (await statusOf(world, user)) === 'offline')
    await knocking.stop()
    expect(await statusOf(world, user)).to.equal('offline')
  })

  it('Admin reset 3: leaves a socket alone whose token is younger than a reset that is told late', async () => {
    const user = await buildUser(world, Date.now() + 2_000)
    const tab = await signIn(first.url, user.token)
    const old = await signIn(first.url, tokenFor(user, Date.now() - 5_000))

    await publishEnd(user.id, 'password_reset')

    expect((await old.closed).code).to.equal(4010)
    tab.send({ type: 'ping' })
    await tab.take('pong')
    tab.socket.terminate()
  })

  it('DELETE self 4: closes with 4011 and tells those who saw the account while it lived', async () => {
    const [user, friend] = [await buildUser(world), await buildUser(world)]
    await befriend(world, user, friend)
    const watcher = await signIn(second.url, friend.token)
    const tabs = await Promise.all([first, second].map((node) => signIn(node.url, user.token)))
    await watcher.take('presence_update')

    await endByDeletion(world, user)
    await publishEnd(user.id, 'account_deleted', [friend.id])

    for (const tab of tabs) expect(await tab.closed).to.deep.equal({ code: 4011, reason: 'Account deleted' })
    expect(await watcher.take('presence_update')).to.include({ userId: user.id, status: 'offline' })
    expect(await statusOf(world, user)).to.equal('offline')
    watcher.socket.terminate()
  })

  it('cuts a peer that does not take part in the closing', async () => {
    const user = await buildUser(world, Date.now() - 5_000)
    const tab = await signIn(first.url, user.token)
    const connection = (tab.socket as unknown as { _socket: { pause(): void; resume(): void } })._socket
    connection.pause()

    await publishEnd(user.id, 'password_reset')

    await eventually('nothing is left on the node', async () => {
      const { text } = await first.ports.metrics.render()
      return text.includes('gatehouse_sockets_authenticated 0')
    })
    connection.resume()
    expect((await tab.closed).code).to.equal(4010)
  })

  it('leaves no socket open, however resets and deletions fall into handshakes', async () => {
    const clients: Client[] = []
    const users = await Promise.all(Array.from({ length: 60 }, () => buildUser(world, Date.now() - 5_000)))

    await Promise.all(
      users.map(async (user, place) => {
        const opened = await Promise.all(
          [first, second, first, second].map(({ url }) => connect(url, { address: `10.0.0.${place}` })),
        )
        clients.push(...opened)
        for (const [turn, client] of opened.entries()) {
          if (turn === place % 5) await endSomehow(user, place)
          client.send({ type: 'auth', token: user.token })
        }
        if (place % 5 === 4) await endSomehow(user, place)
      }),
    )

    const codes = (await Promise.all(clients.map(({ closed }) => closed))).map(({ code }) => code)
    expect([...new Set(codes)].filter((code) => ![4004, 4005, 4010, 4011].includes(code))).to.deep.equal([])
    for (const user of users) expect(await statusOf(world, user)).to.equal('offline')
  })

  it('finds what an event that never came should have closed', async () => {
    const sweeping = await world.startNode({ sweepMs: 50 })
    const [reset, deleted, changed] = await Promise.all([1, 2, 3].map(() => buildUser(world, Date.now() - 5_000)))
    const tabs = await Promise.all([reset!, deleted!, changed!].map((user) => signIn(sweeping.url, user.token)))

    await endByReset(world, reset!)
    await endByDeletion(world, deleted!)
    await world.sql('update users set password_changed_at = ? where id = ?', [Date.now(), changed!.id])

    expect((await tabs[0]!.closed).code).to.equal(4010)
    expect((await tabs[1]!.closed).code).to.equal(4011)
    tabs[2]!.send({ type: 'ping' })
    await tabs[2]!.take('pong')
    tabs[2]!.socket.terminate()
  })

  it('closes after NATS has come back what was to be closed while it was away', async () => {
    await using nats = await privateNats()
    await using other = await openWorld({ databaseUrl: world.databaseUrl, natsUrl: nats.url })
    const node = await other.startNode()
    const publisher = await other.bus()
    const user = await buildUser(world, Date.now() - 5_000)
    const tab = await signIn(node.url, user.token)

    await nats.stop()
    const during = await signIn(node.url, user.token)
    await nats.start()
    await eventually('the bus is back', () => publisher.ready() && node.ports.bus.ready(), 15_000)
    const ended = { userId: user.id, reason: 'password_reset' as const, at: Date.now() }
    await eventually(
      'the event is stored',
      async () => {
        await publisher.publish(accountSessionsEnded, ended, { id: randomUUID() })
        return true
      },
      15_000,
    )

    expect((await tab.closed).code).to.equal(4010)
    expect((await during.closed).code).to.equal(4010)
  })

  /** As identity does it: the truth first, the event after the commit. */
  async function endSomehow(user: BuiltUser, place: number): Promise<void> {
    if (place % 2 === 0) await endByReset(world, user)
    else await endByDeletion(world, user)
    await publishEnd(user.id, place % 2 === 0 ? 'password_reset' : 'account_deleted')
  }
})

async function endByReset(world: World, user: BuiltUser): Promise<void> {
  const at = Date.now()
  await world.sql('update users set password_changed_at = ?, sessions_ended_at = ? where id = ?', [at, at, user.id])
}

async function endByDeletion(world: World, user: BuiltUser): Promise<void> {
  await world.sql('delete from friendships where user_id = ?', [user.id])
  await world.sql(
    `update users set is_deleted = true, status = 'offline', username = '!deleted:' || id, sessions_ended_at = ? where id = ?`,
    [Date.now(), user.id],
  )
}
