import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { deletedPresence } from '@gatehouse/contracts'
import { eventually, startNats } from '@gatehouse/test-kit'
import { connect, retryForever, signIn, type Client } from './client.ts'
import {
  befriend,
  buildUser,
  openCluster,
  publishEnding,
  statusOf,
  tokenFor,
  type BuiltUser,
  type Cluster,
  type Node,
} from './harness.ts'

describe('forced disconnects', () => {
  let cluster: Cluster
  let first: Node
  let second: Node
  let bus: Awaited<ReturnType<Cluster['openBus']>>

  before(async () => {
    cluster = await openCluster()
    first = await cluster.startNode({ graceMs: 600_000 })
    second = await cluster.startNode({ graceMs: 600_000 })
    bus = await cluster.openBus()
  })
  after(() => cluster[Symbol.asyncDispose]())

  const publish = (user: BuiltUser, ending: Parameters<typeof publishEnding>[2]) =>
    publishEnding({ cluster, bus }, user, ending)

  /** An earlier status may come first, or be overtaken. */
  async function takeOffline(watcher: Client, userId: string): Promise<void> {
    let update = await watcher.take('presence_update')
    while (update['userId'] !== userId || update['status'] !== 'offline') update = await watcher.take('presence_update')
  }

  /** Contract: 6, Forced disconnect. */
  it('Admin reset 3: closes every socket on every node with 4010, and shows the user offline at once', async () => {
    const [user, friend] = [await buildUser(cluster, Date.now() - 5_000), await buildUser(cluster)]
    await befriend(cluster, user, friend)
    const watcher = await signIn(second.url, friend.token)
    const tabs = await Promise.all([first, second, first].map((node) => signIn(node.url, user.token)))

    await endByReset(cluster, user)
    await publish(user, { event: 'PasswordReset' })

    for (const tab of tabs) expect(await tab.closed).to.deep.equal({ code: 4010, reason: 'Password reset' })
    await takeOffline(watcher, user.id)
    expect(await statusOf(cluster, user)).to.equal('offline')
    watcher.socket.terminate()
  })

  it('Admin reset 3: shows the user offline at once, although clients go on retrying with the revoked token', async () => {
    const user = await buildUser(cluster, Date.now() - 5_000)
    const tab = await signIn(first.url, user.token)

    await endByReset(cluster, user)
    const retrying = retryForever(first.url, user.token)
    await publish(user, { event: 'PasswordReset' })
    await tab.closed

    await eventually('the user to be offline', async () => (await statusOf(cluster, user)) === 'offline')
    await retrying.stop()
    expect(await statusOf(cluster, user)).to.equal('offline')
  })

  it('Admin reset 3: leaves a socket open whose token is younger than a reset whose event comes late', async () => {
    const user = await buildUser(cluster, Date.now() + 2_000)
    const tab = await signIn(first.url, user.token)
    const old = await signIn(first.url, tokenFor(user, Date.now() - 5_000))

    await publish(user, { event: 'PasswordReset' })

    expect((await old.closed).code).to.equal(4010)
    await tab.synchronize()
    tab.socket.terminate()
  })

  /** Contract: 3, sessions/end. */
  it('sessions/end: closes every socket on every node with 4004, and shows the user offline at once', async () => {
    const [user, friend] = [await buildUser(cluster, Date.now() - 5_000), await buildUser(cluster)]
    await befriend(cluster, user, friend)
    const watcher = await signIn(second.url, friend.token)
    const tabs = await Promise.all([first, second].map((node) => signIn(node.url, user.token)))

    await publish(user, { event: 'SessionsEnded' })

    for (const tab of tabs) expect(await tab.closed).to.deep.equal({ code: 4004, reason: 'Token has been revoked' })
    await takeOffline(watcher, user.id)
    expect(await statusOf(cluster, user)).to.equal('offline')
    watcher.socket.terminate()
  })

  /** Contract: 5, suspend. */
  it('suspend: closes every socket on every node with 4012, and shows the user offline at once', async () => {
    const [user, friend] = [await buildUser(cluster, Date.now() - 5_000), await buildUser(cluster)]
    await befriend(cluster, user, friend)
    const watcher = await signIn(second.url, friend.token)
    const tabs = await Promise.all([first, second].map((node) => signIn(node.url, user.token)))

    await publish(user, { event: 'UserSuspended' })

    for (const tab of tabs) expect(await tab.closed).to.deep.equal({ code: 4012, reason: 'Account suspended' })
    await takeOffline(watcher, user.id)
    expect(await statusOf(cluster, user)).to.equal('offline')
    watcher.socket.terminate()
  })

  /** Contract: 5, suspend. */
  it('suspend: closes the socket of a token of the second before', async () => {
    const now = Date.now()
    const user = await buildUser(cluster, now)
    const tab = await signIn(first.url, user.token)

    await endBySuspension(cluster, user, nextSecond(now))
    await publish(user, { event: 'UserSuspended', at: nextSecond(now) })

    expect((await tab.closed).code).to.equal(4012)
    const again = await connect(first.url)
    again.send({ type: 'auth', token: user.token })
    expect((await again.closed).code).to.equal(4004)
  })

  for (const event of ['SessionsEnded', 'PasswordReset'] as const) {
    it(`${event}: closes the socket of a token of the second before, and none of its own second`, async () => {
      const now = Date.now()
      const at = nextSecond(now)
      const user = await buildUser(cluster, now)
      const before = await signIn(first.url, user.token)

      await endBySelf(cluster, user, at)
      const after = await signIn(first.url, tokenFor(user, at))
      await publish(user, { event, at })

      expect((await before.closed).code).to.equal(event === 'SessionsEnded' ? 4004 : 4010)
      await after.synchronize()
      expect(await statusOf(cluster, user)).to.equal('online')
      after.socket.terminate()
    })
  }

  it('DELETE self 4: closes with 4011 and tells the audience that the account had', async () => {
    const [user, friend] = [await buildUser(cluster), await buildUser(cluster)]
    await befriend(cluster, user, friend)
    const watcher = await signIn(second.url, friend.token)
    const tabs = await Promise.all([first, second].map((node) => signIn(node.url, user.token)))
    await watcher.take('presence_update')

    await endByDeletion(cluster, user)
    await publish(user, { event: 'UserDeleted', audience: [friend.id] })

    for (const tab of tabs) expect(await tab.closed).to.deep.equal({ code: 4011, reason: 'Account deleted' })
    expect(await watcher.take('presence_update')).to.include({ userId: user.id, status: 'offline' })
    expect(await statusOf(cluster, user)).to.equal('offline')
    watcher.socket.terminate()
  })

  it('tells the rest of an audience that is too large for one event', async () => {
    const [deleted, watching] = [await buildUser(cluster), await buildUser(cluster)]
    const watcher = await signIn(second.url, watching.token)

    const payload = { userId: deleted.id, at: Date.now(), audience: [watching.id] }
    await bus.publish(deletedPresence, payload, { id: randomUUID() })

    expect(await watcher.take('presence_update')).to.include({ userId: deleted.id, status: 'offline' })
    watcher.socket.terminate()
  })

  it('terminates a peer that does not take part in the closing handshake', async () => {
    const user = await buildUser(cluster, Date.now() - 5_000)
    const tab = await signIn(first.url, user.token)
    tab.freeze()

    await publish(user, { event: 'PasswordReset' })

    await eventually('nothing is left on the node', async () => {
      const { text } = await first.resources.metrics.render()
      return text.includes('gatehouse_sockets_authenticated 0')
    })
    tab.unfreeze()
    expect((await tab.closed).code).to.equal(4010)
  })

  /** Contract: 6, Revoked tokens. */
  it('leaves no socket open, however resets and deletions fall into handshakes', async () => {
    const clients: Client[] = []
    const users = await Promise.all(Array.from({ length: 60 }, () => buildUser(cluster, Date.now() - 5_000)))

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

    for (const { closed, messages } of clients) {
      const { code, reason } = await closed
      expect([4004, 4005, 4010, 4011]).to.include(code)
      if (!messages.some(({ type }) => type === 'ready')) expect(messages.at(-1)).to.include({ message: reason })
    }
    for (const user of users) {
      await eventually('the user is offline', async () => (await statusOf(cluster, user)) === 'offline')
    }
  })

  it('sweeps up what an event that was lost should have closed, with the code of that event', async () => {
    const sweeping = await cluster.startNode({ sweepMs: 50 })
    const users = await Promise.all([1, 2, 3, 4, 5, 6].map(() => buildUser(cluster, Date.now() - 5_000)))
    const [reset, deleted, changed, ended, suspended, suspendedByHome] = users
    const now = Date.now()
    const tabs = await Promise.all(users.map((user) => signIn(sweeping.url, user.token)))

    await endByReset(cluster, reset!)
    await endByDeletion(cluster, deleted!)
    await cluster.sql('update users set password_changed_at = ? where id = ?', [Date.now(), changed!.id])
    await endBySelf(cluster, ended!, now)
    await endBySuspension(cluster, suspended!, now)
    await endBySuspension(cluster, suspendedByHome!, now, 'home_suspended_at')

    expect((await tabs[0]!.closed).code).to.equal(4010)
    expect((await tabs[4]!.closed).code).to.equal(4012)
    expect((await tabs[5]!.closed).code).to.equal(4012)
    expect((await tabs[1]!.closed).code).to.equal(4011)
    expect((await tabs[3]!.closed).code).to.equal(4004)
    await tabs[2]!.take('reauthenticate')
    tabs[2]!.socket.terminate()
  })

  it('closes after NATS has come back what was to be closed while it was away', async () => {
    await using nats = await startNats()
    await using other = await openCluster({ databaseUrl: cluster.databaseUrl, natsUrl: nats.url })
    const node = await other.startNode()
    const publisher = await other.openBus()
    const user = await buildUser(cluster, Date.now() - 5_000)
    const tab = await signIn(node.url, user.token)

    await nats.stop()
    const during = await signIn(node.url, user.token)
    await nats.start()
    await eventually('the bus is back', () => publisher.ready() && node.resources.bus.ready())
    await eventually('the event is stored', async () => {
      await publishEnding({ cluster, bus: publisher }, user, { event: 'PasswordReset' })
      return true
    })

    expect((await tab.closed).code).to.equal(4010)
    expect((await during.closed).code).to.equal(4010)
  })

  /** As identity does it: the account first, the event after the commit. */
  async function endSomehow(user: BuiltUser, place: number): Promise<void> {
    if (place % 2 === 0) await endByReset(cluster, user)
    else await endByDeletion(cluster, user)
    await publish(user, { event: place % 2 === 0 ? 'PasswordReset' : 'UserDeleted' })
  }
})

async function endByReset(cluster: Cluster, user: BuiltUser): Promise<void> {
  const at = Date.now()
  const reset = `update users set password_changed_at = ?, sessions_ended_at = ?, sessions_ended_by_reset = true where id = ?`
  await cluster.sql(reset, [at, at, user.id])
}

/** As sessions/end does it: every earlier token is revoked too. */
async function endBySelf(cluster: Cluster, user: BuiltUser, at: number): Promise<void> {
  const columns = 'password_changed_at = ?, sessions_ended_at = ?, state_version = state_version + 1'
  await cluster.sql(`update users set ${columns} where id = ?`, [at, at, user.id])
}

const nextSecond = (now: number) => (Math.floor(now / 1000) + 1) * 1000

async function endBySuspension(cluster: Cluster, user: BuiltUser, at: number, by = 'suspended_at'): Promise<void> {
  const columns = `${by} = ?, password_changed_at = ?, sessions_ended_at = ?, state_version = state_version + 1`
  await cluster.sql(`update users set ${columns} where id = ?`, [at, at, at, user.id])
}

async function endByDeletion(cluster: Cluster, user: BuiltUser): Promise<void> {
  await cluster.sql('delete from friendships where user_id = ?', [user.id])
  await cluster.sql(
    `update users set is_deleted = true, status = 'offline', username = '!deleted:' || id, sessions_ended_at = ? where id = ?`,
    [Date.now(), user.id],
  )
}
