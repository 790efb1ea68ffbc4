import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import {
  inviteCreated,
  inviteRedeemed,
  peerChanged,
  profileChanged,
  registrationChanged,
  roleChanged,
  settingsChanged,
  userCreated,
  type AccountState,
} from '@gatehouse/contracts'
import { buildAccountState } from '@gatehouse/test-kit'
import { movableClock } from '@gatehouse/test-kit/time'
import { signIn, type Client } from './client.ts'
import { buildUser, openCluster, quick, stateOf, type BuiltUser, type Cluster, type Node } from './harness.ts'

describe('watch', () => {
  let cluster: Cluster
  let node: Node
  let bus: Awaited<ReturnType<Cluster['openBus']>>

  before(async () => {
    cluster = await openCluster()
    node = await cluster.startNode()
    bus = await cluster.openBus()
  })
  after(() => cluster[Symbol.asyncDispose]())

  const at = Date.now()
  const id = () => ({ id: randomUUID() })
  const buildAdmin = () => buildUser(cluster, Date.now(), { isAdmin: true })

  async function watch(user: BuiltUser): Promise<Client> {
    const client = await signIn(node.url, user.token)
    client.send({ type: 'watch', topic: 'admin' })
    await client.synchronize()
    return client
  }

  /** Settings are changed last: their message is the last of a subscription in order. */
  async function changeSettings(...clients: Client[]): Promise<void> {
    await bus.publish(settingsChanged, { at, actor: null, changed: ['instanceName'] }, id())
    for (const client of clients) {
      expect(await client.take('admin_changed')).to.deep.equal({ type: 'admin_changed', what: 'settings' })
    }
  }

  /** As identity does it. */
  async function changeRole(user: BuiltUser, isAdmin: boolean): Promise<void> {
    await setRole(user, isAdmin)
    await publishRole(await stateOf(cluster, user), isAdmin)
  }

  async function setRole({ id: userId }: BuiltUser, isAdmin: boolean): Promise<void> {
    await cluster.sql('update users set is_admin = ?, state_version = state_version + 1 where id = ?', [
      isAdmin,
      userId,
    ])
  }

  /** Publishes a change of role without its row. */
  async function publishRole(state: AccountState, isAdmin: boolean): Promise<void> {
    const payload = { userId: state.userId, at, state: { ...state, isAdmin }, actor: null, isAdmin }
    await bus.publish(roleChanged, payload, id())
  }

  /** Contract: 6, watch. */
  it('tells an admin of changes of users, invites, registrations, peers and settings, with the id of what it is about', async () => {
    const admin = await watch(await buildAdmin())
    const state = buildAccountState({ userId: '77' })
    const invite = { inviteId: '88', name: 'Summer', at }

    await bus.publish(userCreated, { userId: '77', at, state, origin: 'local' }, id())
    await bus.publish(profileChanged, { userId: '77', at, state, profileUpdatedAt: at, changed: ['bio'] }, id())
    await bus.publish(inviteCreated, { ...invite, actor: null }, id())
    await bus.publish(inviteRedeemed, { ...invite, userId: '77', usedCount: 1 }, id())
    const change = { registrationId: '99', at, actor: null, change: 'requested' } as const
    await bus.publish(registrationChanged, change, id())
    await bus.publish(peerChanged, { at, actor: null, origin: 'https://b.example', status: 'active' }, id())

    const changes = [await admin.take('admin_changed')]
    for (let taken = 1; taken < 6; taken += 1) changes.push(await admin.take('admin_changed'))
    expect(changes.map(({ what, id: changed }) => [what, changed])).to.deep.equal([
      ['users', '77'],
      ['users', '77'],
      ['invites', '88'],
      ['invites', '88'],
      ['registrations', '99'],
      ['peers', undefined],
    ])
    await changeSettings(admin)
    admin.socket.terminate()
  })

  it('tells no socket that did not ask, nor one that has sent unwatch', async () => {
    const user = await buildAdmin()
    const watching = await watch(user)
    const silent = await signIn(node.url, user.token)
    const ended = await watch(user)
    ended.send({ type: 'unwatch', topic: 'admin' })
    const endedShortly = await watch(user)
    endedShortly.send({ type: 'unwatch' })
    for (const client of [ended, endedShortly]) await client.synchronize()

    await changeSettings(watching)

    for (const client of [silent, ended, endedShortly]) {
      await client.synchronize()
      expect(client.messages).to.deep.equal([])
      client.socket.terminate()
    }
    watching.socket.terminate()
  })

  it('answers a user who is no admin, and a topic that is unknown, with an error', async () => {
    const [admin, member] = [await watch(await buildAdmin()), await watch(await buildUser(cluster))]
    admin.send({ type: 'watch', topic: 'weather' })

    const required = { type: 'error', message: 'Admin access required', code: 'admin_required' }
    expect(await member.take('error')).to.deep.equal(required)
    expect(await admin.take('error')).to.deep.equal({ type: 'error', message: 'Unknown topic', code: 'unknown_topic' })
    await changeSettings(admin)
    await member.synchronize()
    expect(member.messages).to.deep.equal([])
    for (const client of [admin, member]) client.socket.terminate()
  })

  /** Contract: 5, Second factors of others. */
  it('tells no admin who must set up a second factor first, whose token the routes of admins refuse too', async () => {
    const [due, later, admin] = [await buildAdmin(), await buildAdmin(), await buildAdmin()]
    const demand = async ({ id: userId }: BuiltUser, isDue: boolean) =>
      await cluster.sql('update users set second_factor_due = ? where id = ?', [isDue, userId])
    await demand(due, true)
    const [refused, dropped, watching] = [await watch(due), await watch(later), await watch(admin)]
    await demand(later, true)

    const { code } = await refused.take('error')
    await changeSettings(watching)
    for (const client of [refused, dropped]) await client.synchronize()
    expect(code).to.equal('second_factor_setup_required')
    expect([refused.messages, dropped.messages]).to.deep.equal([[], []])

    for (const user of [due, later]) await demand(user, false)
    for (const client of [refused, dropped]) {
      client.send({ type: 'watch', topic: 'admin' })
      await client.synchronize()
    }
    await changeSettings(refused, dropped, watching)
    for (const client of [refused, dropped, watching]) client.socket.terminate()
  })

  it('costs a token as any message but ping', async () => {
    const still = await cluster.startNodeWith({ overrides: { timings: quick }, clock: movableClock() })
    const client = await signIn(still.url, (await buildAdmin()).token)

    client.sendTogether(...Array.from({ length: 40 }, () => ({ type: 'watch', topic: 'admin' })))
    await client.synchronize()

    expect(client.messages).to.have.length(10)
    expect(new Set(client.messages.map(({ message }) => message))).to.deep.equal(new Set(['Rate limited']))
    client.socket.terminate()
    await still.dispose()
  })

  it('ends with the role, in the order of the events, and is allowed as soon as the role is given', async () => {
    const [user, other] = [await buildAdmin(), await watch(await buildAdmin())]
    const loser = await watch(user)
    // Its watch has been judged then.
    await changeSettings(other, loser)

    await changeRole(user, false)
    expect(await other.take('admin_changed')).to.include({ what: 'users', id: user.id })
    await changeSettings(other)
    await loser.synchronize()
    expect(loser.messages).to.deep.equal([])

    await changeRole(user, true)
    await other.take('admin_changed')
    loser.send({ type: 'watch', topic: 'admin' })
    await loser.synchronize()
    await changeSettings(other, loser)
    for (const client of [loser, other]) client.socket.terminate()
  })

  it('does not go back to the role of an older event', async () => {
    const [user, other] = [await buildAdmin(), await watch(await buildAdmin())]
    const client = await watch(user)
    const state = await stateOf(cluster, user)

    await publishRole({ ...state, version: state.version - 1 }, false)
    expect(await other.take('admin_changed')).to.include({ what: 'users', id: user.id })
    expect(await client.take('admin_changed')).to.include({ what: 'users', id: user.id })

    await changeSettings(client, other)
    for (const each of [client, other]) each.socket.terminate()
  })

  it('ends with the role although the event was lost: the next change finds it', async () => {
    const user = await buildAdmin()
    const [client, other] = [await watch(user), await watch(await buildAdmin())]

    await changeSettings(client, other)
    await setRole(user, false)
    await changeSettings(other)
    await client.synchronize()
    expect(client.messages).to.deep.equal([])
    client.send({ type: 'watch', topic: 'admin' })

    const required = { type: 'error', message: 'Admin access required', code: 'admin_required' }
    expect(await client.take('error')).to.deep.equal(required)
    for (const each of [client, other]) each.socket.terminate()
  })
})
