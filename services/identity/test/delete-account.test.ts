import { randomUUID } from 'node:crypto'
import { access, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { deletedPresence, userDeleted } from '@gatehouse/contracts'
import { accountStateOf } from '@gatehouse/domain'
import { startUploadCleanup } from '../src/uploads/upload-cleanup.ts'
import { buildUser, cacheState, collectEvents, readUser } from './builders.ts'
import {
  buildChannel,
  buildDirectMessage,
  buildDirectMessages,
  buildMessage,
  buildRow,
  buildSpace,
  column,
  insertMany,
  insertRow,
} from './chat.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { testPassword } from './quick-hasher.ts'
import { answered } from '@gatehouse/test-kit'

const path = '/api/users/@me'

describe('DELETE /api/users/@me', () => {
  let identity: TestIdentity
  before(async () => void (identity = await startTestIdentity()))
  after(async () => await identity[Symbol.asyncDispose]())

  it('DELETE self 1: refuses a username that is not the stored one, before it looks at the password', async () => {
    const user = await buildUser(identity)
    const before = identity.hasher.verified.length

    const answer = await identity.call('DELETE', path, { as: user, body: { username: 'another', password: 'wrong' } })

    expect(answer.status).to.equal(400)
    expect(identity.hasher.verified.length).to.equal(before)
    expect((await readUser(identity, user.id)).isDeleted).to.equal(false)
  })

  it('DELETE self 2: requires the password of local users', async () => {
    const user = await buildUser(identity)
    const { username } = user

    const missing = await identity.call('DELETE', path, { as: user, body: { username } })
    const empty = await identity.call('DELETE', path, { as: user, body: { username, password: '' } })
    const number = await identity.call('DELETE', path, { as: user, body: { username, password: 12345678 } })
    const nothing = await identity.call('DELETE', path, { as: user })
    const wrong = await identity.call('DELETE', path, { as: user, body: { username, password: 'not this one' } })

    const malformed = [missing, empty, number, nothing].map(({ status }) => status)
    expect([...malformed, wrong.status]).to.deep.equal([400, 400, 400, 400, 403])
    expect(wrong.body).to.deep.equal({
      error: 'Incorrect password',
      statusCode: 403,
      code: 'account_deletion_password_incorrect',
    })
    expect((await readUser(identity, user.id)).isDeleted).to.equal(false)
  })

  it('DELETE self 2: accepts the token alone of federated users, with an empty password', async () => {
    const user = await buildUser(identity, { username: 'fed@home.example', homeInstance: 'home.example' })

    const answer = await identity.call('DELETE', path, { as: user, body: { username: user.username, password: '' } })

    expect(answer.status).to.equal(200)
    expect((await readUser(identity, user.id)).isDeleted).to.equal(true)
  })

  /** Contract: 3, DELETE self. */
  it('DELETE self 3: refuses the owner of spaces, names them and deletes nothing', async () => {
    const user = await buildUser(identity)
    const spaces = [await buildSpace(identity, user, 'first'), await buildSpace(identity, user, 'second')]
    await insertRow(identity, 'space_members', { space_id: spaces[0], user_id: user.id })
    const body = { username: user.username, password: testPassword }

    const answer = await identity.call('DELETE', path, { as: user, body })

    expect(answer.status).to.equal(400)
    expect(answer.body).to.deep.include({
      statusCode: 400,
      ownedSpaces: [
        { id: spaces[0], name: 'first' },
        { id: spaces[1], name: 'second' },
      ],
    })
    expect(await column(identity, 'select 1 from space_members where user_id = ?', [user.id])).to.have.length(1)
    expect((await readUser(identity, user.id)).isDeleted).to.equal(false)
  })

  it('DELETE self 4: answers success once every token is revoked, and publishes the deletion, which closes its sockets', async () => {
    const user = await buildUser(identity)
    await cacheState(identity, user)
    await using events = await collectEvents(identity, [userDeleted])

    const answer = await identity.call('DELETE', path, {
      as: user,
      body: { username: user.username, password: testPassword },
      headers: { 'x-request-id': 'the-request' },
    })

    expect([answer.status, answer.body]).to.deep.equal([200, { success: true }])
    expect(await identity.deps.accountStateCache.find(user.id)).to.include({ isDeleted: true, version: 2 })
    const at = identity.clock.now()
    const state = accountStateOf(await readUser(identity, user.id))
    expect(state).to.include({ isDeleted: true, version: 2, sessionsEndedAt: at, username: `!deleted:${user.id}` })
    expect(await events.ofUser(user.id, 1)).to.deep.equal([
      {
        name: 'UserDeleted',
        payload: { userId: user.id, at, state, actor: null, mode: 'full', audience: [] },
        requestId: 'the-request',
      },
    ])
  })

  it('DELETE self 4: publishes who saw it online, which is unknown once its relations are deleted', async () => {
    const user = await buildUser(identity)
    const friend = await buildUser(identity)
    const absent = await buildUser(identity)
    const stranger = await buildUser(identity)
    for (const { id } of [friend, absent]) await insertRow(identity, 'friendships', { user_id: id, friend_id: user.id })
    const nodeId = randomUUID()
    await insertRow(identity, 'session_nodes', { id: nodeId })
    for (const { id } of [friend, stranger]) await insertRow(identity, 'presences', { user_id: id, node_id: nodeId })
    await using events = await collectEvents(identity, [userDeleted])

    await answered(
      identity.call('DELETE', path, { as: user, body: { username: user.username, password: testPassword } }),
    )

    const published = await events.ofUser(user.id, 1)
    expect(published.map(({ payload }) => payload['audience'])).to.deep.equal([[friend.id]])
  })

  it('DELETE self 4: publishes all who saw it online, however many, in events of 20,000', async () => {
    const user = await buildUser(identity)
    const nodeId = randomUUID()
    await insertRow(identity, 'session_nodes', { id: nodeId })
    await insertMany(
      identity,
      `with added as (
         insert into users (id, username, password_hash) select next_snowflake(), 'watcher' || n, '!none'
         from generate_series(1, 20001) n returning id
       ), seen as (insert into friendships (user_id, friend_id) select ?, id from added)
       insert into presences (user_id, node_id) select id, ? from added`,
      [user.id, nodeId],
    )
    await using events = await collectEvents(identity, [userDeleted, deletedPresence])

    const body = { username: user.username, password: testPassword }
    const { status } = await identity.call('DELETE', path, { as: user, body })

    expect(status).to.equal(200)
    const published = await events.ofUser(user.id, 2)
    const audiences = published.map(({ payload }) => payload['audience'] as string[])
    expect(audiences.map(({ length }) => length)).to.have.members([20_000, 1])
    expect(new Set(audiences.flat())).to.have.property('size', 20_001)
  })

  it('DELETE self 4: removes avatar, banner, unclaimed uploads and the files of purged attachments, and no others', async () => {
    const user = await buildUser(identity, { avatar: 'avatar.webp', banner: 'banner.webp' })
    const staying = await buildUser(identity, { avatar: 'stays.webp' })
    await insertRow(identity, 'uploads', { filename: 'loose.webp', user_id: user.id, size: 1, mimetype: 'image/webp' })
    const channelId = await buildChannel(identity, await buildSpace(identity, staying))
    await buildMessage(identity, { channelId, author: user, filename: 'said.png' })
    await buildMessage(identity, { channelId, author: staying, filename: 'kept.png' })
    const lonely = await buildDirectMessages(identity, { members: [user] })
    await buildDirectMessage(identity, { channelId: lonely, author: user, filename: 'lonely.png' })
    const shared = await buildDirectMessages(identity, { members: [user, staying] })
    await buildDirectMessage(identity, { channelId: shared, author: user, filename: 'shared.png' })
    const going = ['avatar.webp', 'banner.webp', 'loose.webp', 'said.png', 'lonely.png']
    const kept = ['stays.webp', 'kept.png', 'shared.png']
    for (const name of [...going, ...kept]) await writeFile(join(identity.config.uploadDir, name), 'x')

    await answered(
      identity.call('DELETE', path, { as: user, body: { username: user.username, password: testPassword } }),
    )

    expect(await filesAmong(identity, [...going, ...kept])).to.deep.equal(kept)
    expect(await column(identity, 'select filename from file_removals')).to.deep.equal([])
  })

  it('removes after a crash the files that were recorded before it, and never follows a name out of the folder', async () => {
    await writeFile(join(identity.config.uploadDir, 'left-over.webp'), 'x')
    await writeFile(join(identity.config.uploadDir, '..', 'outside.webp'), 'x')
    for (const filename of ['left-over.webp', '../outside.webp', 'never-there.webp']) {
      await insertRow(identity, 'file_removals', { filename })
    }

    await using cleanup = startUploadCleanup(identity.deps)
    await cleanup.runNow()

    expect(await filesAmong(identity, ['left-over.webp', '../outside.webp'])).to.deep.equal(['../outside.webp'])
    expect(await column(identity, 'select filename from file_removals')).to.deep.equal([])
  })

  it('refuses a password that was changed while the deletion verified it', async () => {
    const user = await buildUser(identity)
    identity.hasher.beforeWork = async () => {
      identity.hasher.beforeWork = async () => undefined
      await identity.deps.orm.em.fork().execute('update users set password_hash = ? where id = ?', ['new', user.id])
    }

    const body = { username: user.username, password: testPassword }
    const answer = await identity.call('DELETE', path, { as: user, body })

    expect(answer.status).to.equal(403)
    expect((await readUser(identity, user.id)).isDeleted).to.equal(false)
  })

  it('lets the last admin delete the own account and makes no later account the first admin', async () => {
    const admin = await buildUser(identity, { isAdmin: true })
    await identity.deps.orm.em.fork().execute('update instance_settings set first_admin_id = ?', [admin.id])

    await answered(
      identity.call('DELETE', path, { as: admin, body: { username: admin.username, password: testPassword } }),
    )

    expect(await column(identity, 'select first_admin_id from instance_settings')).to.deep.equal([admin.id])
  })

  /** Contract: 2, Tombstones. */
  it('shows others a tombstone, and login says that the account was deleted', async () => {
    const user = await buildUser(identity, { displayName: 'Ada', bio: 'x', showActivity: true })
    const other = await buildUser(identity)
    await buildRow(identity, 'friend_requests', { from_user_id: user.id, to_user_id: other.id })

    await answered(
      identity.call('DELETE', path, { as: user, body: { username: user.username, password: testPassword } }),
    )

    const { body } = await identity.call('GET', `/api/users/${user.id}`, { as: other })
    expect(body).to.deep.equal({
      id: user.id,
      username: 'Deleted User',
      createdAt: user.createdAt.getTime(),
      isDeleted: true,
      displayName: null,
      avatar: null,
      banner: null,
      accentColor: null,
      avatarColor: null,
      bio: null,
      status: 'offline',
      customStatus: null,
      isAdmin: false,
      discoverable: false,
      profileUpdatedAt: 0,
      homeInstance: null,
      homeUserId: null,
      replicatedInstances: [],
    })
  })
})

async function filesAmong(identity: TestIdentity, names: string[]): Promise<string[]> {
  const there = await Promise.all(
    names.map((name) =>
      access(join(identity.config.uploadDir, name)).then(
        () => true,
        () => false,
      ),
    ),
  )
  return names.filter((_, index) => there[index])
}
