import { expect } from 'chai'
import { eventually } from '@gatehouse/test-kit'
import { movableClock } from '@gatehouse/test-kit/time'
import { signIn, type Client } from './client.ts'
import { befriend, buildUser, openCluster, publishEnding, statusOf, tokenFor } from './harness.ts'
import type { BuiltUser, Cluster, Node } from './harness.ts'

const tenSeconds = 10_000
const revoked = { code: 4004, reason: 'Token has been revoked' }

/** Contract: 6, auth once more. */
describe('a change of the own password', () => {
  let cluster: Cluster
  let first: Node
  let second: Node
  let bus: Awaited<ReturnType<Cluster['openBus']>>
  let changedAt: number

  before(async () => {
    cluster = await openCluster()
    // An account would be shown offline at once.
    first = await cluster.startNode({ graceMs: 0 })
    second = await cluster.startNode({ graceMs: 0 })
    bus = await cluster.openBus()
  })
  after(() => cluster[Symbol.asyncDispose]())
  beforeEach(() => void (changedAt = Math.floor(Date.now() / 1000) * 1000 - 2_000))

  const secondsBefore = (seconds: number) => changedAt - seconds * 1000
  const issuedAt = (seconds: number) => secondsBefore(seconds) / 1000
  /** As identity does it: the account first, the event after the commit. */
  async function changePassword(user: BuiltUser, bySessionOf: number): Promise<void> {
    const columns = 'password_changed_at = ?, state_version = state_version + 1'
    await cluster.sql(`update users set ${columns} where id = ?`, [changedAt, user.id])
    const ending = { event: 'PasswordChanged', at: changedAt, tokenIssuedAt: issuedAt(bySessionOf) } as const
    await publishEnding({ cluster, bus }, user, ending)
  }
  const authenticate = async (tab: Client, token: string) => {
    tab.send({ type: 'auth', token })
    await tab.take('authenticated')
  }

  it('closes the sockets of other sessions on every node, and asks those of its own session for the newer token', async () => {
    const [user, friend] = [await buildUser(cluster, secondsBefore(5)), await buildUser(cluster)]
    await befriend(cluster, user, friend)
    const watcher = await signIn(second.url, friend.token)
    const own = await Promise.all([first, second].map(({ url }) => signIn(url, user.token)))
    const others = await Promise.all([first, second].map(({ url }) => signIn(url, tokenFor(user, secondsBefore(9)))))
    const newer = await signIn(first.url, tokenFor(user, changedAt))

    await changePassword(user, 5)

    for (const other of others) expect(await other.closed).to.deep.equal(revoked)
    for (const tab of own) {
      await tab.take('reauthenticate')
      await authenticate(tab, tokenFor(user, changedAt))
    }
    await newer.synchronize()
    expect(newer.messages.map(({ type }) => type)).to.not.include('reauthenticate')
    newer.socket.terminate()
    // One leaves, and the last one after it: what was told of the user meanwhile came before.
    await own[0]!.close()
    await own[1]!.synchronize()
    expect(await statusOf(cluster, user)).to.equal('online')
    await own[1]!.close()
    await eventually('the user to be offline', async () => (await statusOf(cluster, user)) === 'offline')
    const seen = () => watcher.messages.filter(({ userId }) => userId === user.id).map(({ status }) => status)
    await eventually('the friend to hear of it', () => seen().includes('offline'))
    expect(seen()).to.deep.equal(['online', 'offline'])
    watcher.socket.terminate()
  })

  it('leaves a socket without authority until the newer token has come, and gives it the authority back', async () => {
    const admin = await buildUser(cluster, secondsBefore(5), { isAdmin: true })
    const tab = await signIn(first.url, admin.token)
    await changePassword(admin, 5)
    await tab.take('reauthenticate')

    tab.send({ type: 'watch', topic: 'admin' })
    expect(await tab.take('error')).to.include({ code: 'token_revoked', requestType: 'watch' })
    await authenticate(tab, tokenFor(admin, changedAt))
    tab.send({ type: 'watch', topic: 'admin' })
    await publishEnding({ cluster, bus }, await buildUser(cluster), { event: 'PasswordReset' })
    expect(await tab.take('admin_changed')).to.include({ what: 'users' })
    tab.socket.terminate()
  })

  it('closes a socket whose newer token does not come within 10 s, however often it is asked for', async () => {
    const { node, timer } = await cluster.startNodeWithTimer()
    const user = await buildUser(cluster, secondsBefore(5))
    const [silent, answering] = [await signIn(node.url, user.token), await signIn(node.url, user.token)]
    await changePassword(user, 5)
    await silent.take('reauthenticate')
    await authenticate(answering, tokenFor(user, changedAt))
    timer.advance(tenSeconds - 100)
    await changePassword(user, 5)
    await silent.synchronize()
    timer.advance(200)

    expect(await silent.closed).to.deep.equal(revoked)
    await answering.synchronize()
    answering.socket.terminate()
  })

  it('refuses a second `auth` as the first: of another account, of a revoked token, of none', async () => {
    const [user, other] = [await buildUser(cluster, secondsBefore(5)), await buildUser(cluster)]
    await cluster.sql('update users set password_changed_at = ? where id = ?', [changedAt, user.id])
    const live = tokenFor(user, changedAt)
    const auths: [unknown, number][] = [
      [{ token: other.token }, 4003],
      [{ token: user.token }, 4004],
      [{ token: 'none' }, 4003],
      [{ token: 7 }, 4003],
      [{}, 4003],
    ]
    for (const [auth, code] of auths) {
      const tab = await signIn(first.url, live)
      tab.send({ type: 'auth', ...(auth as object) })
      expect((await tab.closed).code, JSON.stringify(auth)).to.equal(code)
    }
    const tab = await signIn(first.url, live)
    await authenticate(tab, live)
    await tab.synchronize()
    tab.socket.terminate()
  })
})

/** Contract: 6, auth once more. */
it('a socket lives as long as the newest token that it was given', async () => {
  await using cluster = await openCluster()
  const clock = movableClock(Date.now())
  const node = await cluster.startNodeWith({ clock, overrides: { timings: { expiryMs: 20 } } })
  const user = await buildUser(cluster)
  const expiring = { token: tokenFor(user, Date.now(), '1h') }
  const [renewed, left] = [await signIn(node.url, expiring.token), await signIn(node.url, expiring.token)]

  renewed.send({ type: 'auth', token: tokenFor(user, Date.now(), '30d') })
  await renewed.take('authenticated')
  clock.advance(2 * 60 * 60 * 1000)

  expect(await left.closed).to.deep.equal(revoked)
  await renewed.synchronize()
  renewed.socket.terminate()
})

it('a second `auth` that nobody can judge leaves the socket as it was', async () => {
  await using cluster = await openCluster()
  const node = await cluster.startNode({ tokenReadMs: 200 })
  const user = await buildUser(cluster)
  const tab = await signIn(node.url, user.token)
  await cluster.identity[Symbol.asyncDispose]()

  tab.send({ type: 'auth', token: tokenFor(user, Date.now(), '2h') })

  expect(await tab.take('error')).to.include({ code: 'service_unavailable', requestType: 'auth' })
  await tab.synchronize()
  tab.socket.terminate()
})
