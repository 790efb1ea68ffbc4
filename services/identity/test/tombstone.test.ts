import { expect } from 'chai'
import { deleteLockedAccount } from '../src/operations/deletion/delete-account.ts'
import { lockUser } from '../src/queries/load-user.ts'
import { buildUser, readUser } from './builders.ts'
import { buildChannel, buildMessage, buildRole, buildRow, buildSpace, column, insertRow, rowsOf } from './chat.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'

describe('Tombstone: relations', () => {
  let identity: TestIdentity
  before(async () => void (identity = await startTestIdentity()))
  after(async () => await identity[Symbol.asyncDispose]())

  /** A user to delete, one who stays, and a space of the latter. */
  async function buildUsers() {
    const [leaving, staying] = [await buildUser(identity), await buildUser(identity)]
    return { leaving, staying, spaceId: await buildSpace(identity, staying) }
  }
  const end = (userId: string, mode: 'soft' | 'full' = 'soft') => tombstone(identity, userId, mode)

  it('deletes the space memberships of the user and of no other user', async () => {
    const { leaving, staying, spaceId } = await buildUsers()
    for (const { id } of [leaving, staying]) {
      await insertRow(identity, 'space_members', { space_id: spaceId, user_id: id })
    }

    await end(leaving.id)

    const members = await column(identity, 'select user_id from space_members where space_id = ?', [spaceId])
    expect(members).to.deep.equal([staying.id])
  })

  it('deletes the role assignments of the user and of no other user', async () => {
    const { leaving, staying, spaceId } = await buildUsers()
    const roleId = await buildRole(identity, spaceId)
    for (const { id } of [leaving, staying]) {
      await insertRow(identity, 'role_assignments', { role_id: roleId, user_id: id })
    }

    await end(leaving.id)

    const holders = await column(identity, 'select user_id from role_assignments where role_id = ?', [roleId])
    expect(holders).to.deep.equal([staying.id])
  })

  it('deletes friendships in both directions and leaves those of others', async () => {
    const { leaving, staying } = await buildUsers()
    const third = await buildUser(identity)
    const pairs = [
      [leaving.id, staying.id],
      [third.id, leaving.id],
      [staying.id, third.id],
    ]
    for (const [user_id, friend_id] of pairs) await insertRow(identity, 'friendships', { user_id, friend_id })

    await end(leaving.id)

    const left = await rowsOf(
      identity,
      'select user_id::text, friend_id::text from friendships where user_id in (?, ?)',
      [staying.id, third.id],
    )
    expect(left).to.deep.equal([{ user_id: staying.id, friend_id: third.id }])
    expect(await column(identity, 'select 1 from friendships where user_id = ?', [leaving.id])).to.deep.equal([])
  })

  it('deletes friend requests in both directions and leaves those of others', async () => {
    const { leaving, staying } = await buildUsers()
    const third = await buildUser(identity)
    await buildRow(identity, 'friend_requests', { from_user_id: leaving.id, to_user_id: staying.id })
    await buildRow(identity, 'friend_requests', { from_user_id: third.id, to_user_id: leaving.id })
    const kept = await buildRow(identity, 'friend_requests', { from_user_id: staying.id, to_user_id: third.id })

    await end(leaving.id)

    const users = [leaving.id, staying.id, third.id]
    const left = await column(identity, 'select id from friend_requests where from_user_id in (?, ?, ?)', users)
    expect(left).to.deep.equal([kept])
  })

  it('deletes the read states of the user and of no other user', async () => {
    const { leaving, staying } = await buildUsers()
    for (const { id } of [leaving, staying]) await insertRow(identity, 'read_states', { channel_id: 7, user_id: id })

    await end(leaving.id)

    const owners = await column(identity, 'select user_id from read_states where user_id in (?, ?)', [
      leaving.id,
      staying.id,
    ])
    expect(owners).to.deep.equal([staying.id])
  })

  it('deletes the space folders of the user and of no other user', async () => {
    const { leaving, staying } = await buildUsers()
    for (const { id } of [leaving, staying]) await buildRow(identity, 'space_folders', { user_id: id })

    await end(leaving.id)

    const owners = await column(identity, 'select user_id from space_folders where user_id in (?, ?)', [
      leaving.id,
      staying.id,
    ])
    expect(owners).to.deep.equal([staying.id])
  })

  it('deletes channel overrides for the member, not those for a role with the same id or for other members', async () => {
    const { leaving, staying, spaceId } = await buildUsers()
    const channelId = await buildChannel(identity, spaceId)
    for (const [target_type, target_id] of [
      ['member', leaving.id],
      ['role', leaving.id],
      ['member', staying.id],
    ]) {
      await insertRow(identity, 'channel_overrides', { channel_id: channelId, target_type, target_id })
    }

    await end(leaving.id)

    const left = await rowsOf(
      identity,
      'select target_type, target_id::text from channel_overrides where channel_id = ? order by target_type',
      [channelId],
    )
    expect(left).to.deep.equal([
      { target_type: 'member', target_id: staying.id },
      { target_type: 'role', target_id: leaving.id },
    ])
  })

  it('deletes bans of the user and forgets who banned others', async () => {
    const { leaving, staying, spaceId } = await buildUsers()
    const third = await buildUser(identity)
    await insertRow(identity, 'bans', { space_id: spaceId, user_id: leaving.id, banned_by: staying.id })
    await insertRow(identity, 'bans', { space_id: spaceId, user_id: staying.id, banned_by: leaving.id })
    await insertRow(identity, 'bans', { space_id: spaceId, user_id: third.id, banned_by: staying.id })

    await end(leaving.id)

    const left = await rowsOf(
      identity,
      'select user_id::text, banned_by::text from bans where space_id = ? order by bans.user_id',
      [spaceId],
    )
    expect(left).to.deep.equal([
      { user_id: staying.id, banned_by: null },
      { user_id: third.id, banned_by: staying.id },
    ])
  })

  it('deletes join requests of the user and forgets who decided those of others', async () => {
    const { leaving, staying, spaceId } = await buildUsers()
    const third = await buildUser(identity)
    await buildRow(identity, 'join_requests', { space_id: spaceId, user_id: leaving.id, decided_by: staying.id })
    await buildRow(identity, 'join_requests', { space_id: spaceId, user_id: staying.id, decided_by: leaving.id })
    await buildRow(identity, 'join_requests', { space_id: spaceId, user_id: third.id, decided_by: staying.id })

    await end(leaving.id)

    const left = await rowsOf(
      identity,
      'select user_id::text, decided_by::text from join_requests where space_id = ? order by id',
      [spaceId],
    )
    expect(left).to.deep.equal([
      { user_id: staying.id, decided_by: null },
      { user_id: third.id, decided_by: staying.id },
    ])
  })

  it('deletes voice restrictions of the user and forgets who moderated others', async () => {
    const { leaving, staying, spaceId } = await buildUsers()
    const third = await buildUser(identity)
    await insertRow(identity, 'voice_restrictions', {
      space_id: spaceId,
      user_id: leaving.id,
      moderator_id: staying.id,
    })
    await insertRow(identity, 'voice_restrictions', {
      space_id: spaceId,
      user_id: staying.id,
      moderator_id: leaving.id,
    })
    await insertRow(identity, 'voice_restrictions', { space_id: spaceId, user_id: third.id, moderator_id: staying.id })

    await end(leaving.id)

    const left = await rowsOf(
      identity,
      `select user_id::text, moderator_id::text from voice_restrictions where space_id = ?
       order by voice_restrictions.user_id`,
      [spaceId],
    )
    expect(left).to.deep.equal([
      { user_id: staying.id, moderator_id: null },
      { user_id: third.id, moderator_id: staying.id },
    ])
  })

  it('full mode deletes what the user wrote and reacted in spaces, with attachments, embeds and their reactions', async () => {
    const { leaving, staying, spaceId } = await buildUsers()
    const channelId = await buildChannel(identity, spaceId)
    await buildMessage(identity, { channelId, author: leaving, filename: 'gone.png', reactors: [leaving, staying] })
    const kept = await buildMessage(identity, { channelId, author: staying, reactors: [leaving, staying] })

    await end(leaving.id, 'full')

    const inChannel = (table: string, what = 'message_id') =>
      column(
        identity,
        `select ${what} from ${table} where message_id in (select id from messages where channel_id = ?)`,
        [channelId],
      )
    expect(await column(identity, 'select id from messages where channel_id = ?', [channelId])).to.deep.equal([kept])
    expect(await inChannel('message_attachments')).to.deep.equal([kept])
    expect(await inChannel('message_embeds')).to.deep.equal([kept])
    expect(await inChannel('message_reactions', 'user_id')).to.deep.equal([staying.id])
  })

  it('soft mode keeps messages, reactions, attachments and embeds', async () => {
    const { leaving, staying, spaceId } = await buildUsers()
    const channelId = await buildChannel(identity, spaceId)
    const ids = [
      await buildMessage(identity, { channelId, author: leaving, reactors: [leaving, staying] }),
      await buildMessage(identity, { channelId, author: staying, reactors: [leaving] }),
    ]

    await end(leaving.id, 'soft')

    const count = async (table: string, key: string) =>
      (await column(identity, `select count(*) from ${table} where ${key} in (?, ?)`, ids))[0]
    expect(await count('messages', 'id')).to.equal('2')
    expect(await count('message_attachments', 'message_id')).to.equal('2')
    expect(await count('message_embeds', 'message_id')).to.equal('2')
    expect(await count('message_reactions', 'message_id')).to.equal('3')
  })

  it('turns the row into a tombstone and keeps id and createdAt', async () => {
    const user = await buildUser(identity, {
      displayName: 'Ada',
      avatar: 'a.webp',
      banner: 'b.webp',
      bio: 'x',
      customStatus: 'y',
      accentColor: '#aabbcc',
      avatarColor: 'mint',
      replicatedInstances: [{ origin: 'https://a.example', username: 'ada' }],
      isAdmin: true,
      status: 'online',
    })
    const neighbour = await buildUser(identity, { displayName: 'Bo', isAdmin: true })
    const before = await readUser(identity, user.id)

    await end(user.id)

    const after = await readUser(identity, user.id)
    const nothing = ['displayName', 'avatar', 'banner', 'bio', 'customStatus', 'accentColor', 'avatarColor'] as const
    for (const field of nothing) expect(after[field], field).to.equal(null)
    expect(after.username).to.equal(`!deleted:${user.id}`)
    expect(after.passwordHash).to.match(/^!deleted:[\w-]{43}$/)
    expect(after.replicatedInstances).to.deep.equal([])
    expect(await column(identity, 'select replicated_instances from users where id = ?', [user.id])).to.deep.equal([
      '[]',
    ])
    expect([after.isDeleted, after.isAdmin, after.status]).to.deep.equal([true, false, 'offline'])
    expect(after.createdAt.getTime()).to.equal(before.createdAt.getTime())
    expect(after.stateVersion).to.equal(before.stateVersion + 1)
    expect(after.sessionsEndedAt).to.equal(identity.clock.now())
    expect(await readUser(identity, neighbour.id)).to.include({ displayName: 'Bo', isAdmin: true, isDeleted: false })
  })

  it('frees the username', async () => {
    const user = await buildUser(identity, { username: 'free_me' })

    await end(user.id)

    expect((await buildUser(identity, { username: 'free_me' })).username).to.equal('free_me')
  })

  it('keeps invite redemptions referring to the tombstone, with the name at registration', async () => {
    const user = await buildUser(identity, { username: 'invited' })
    const inviteId = await buildRow(identity, 'invites', { token: 't'.repeat(22), name: 'x', created_by: user.id })
    await buildRow(identity, 'invite_redemptions', {
      invite_id: inviteId,
      user_id: user.id,
      registrant_username: 'invited',
    })

    await end(user.id, 'full')

    const [row] = await rowsOf(
      identity,
      'select user_id::text, registrant_username from invite_redemptions where user_id = ?',
      [user.id],
    )
    expect(row).to.deep.equal({ user_id: user.id, registrant_username: 'invited' })
    expect(await column(identity, 'select created_by from invites where id = ?', [inviteId])).to.deep.equal([user.id])
  })
})

describe('Tombstone: optional tables', () => {
  for (const table of ['bans', 'join_requests', 'voice_restrictions']) {
    it(`tolerates that ${table} is missing and still does the rest`, async () => {
      await using identity = await startTestIdentity()
      const [leaving, staying] = [await buildUser(identity), await buildUser(identity)]
      const spaceId = await buildSpace(identity, staying)
      await insertRow(identity, 'space_members', { space_id: spaceId, user_id: leaving.id })
      await identity.deps.orm.em.fork().execute(`drop table ${table}`)

      await tombstone(identity, leaving.id, 'full')

      expect((await readUser(identity, leaving.id)).isDeleted).to.equal(true)
      expect(await column(identity, 'select 1 from space_members')).to.deep.equal([])
    })
  }
})

/** The part of a deletion that all callers share. */
async function tombstone({ deps }: TestIdentity, userId: string, mode: 'soft' | 'full'): Promise<void> {
  await deps.orm.em.fork().transactional(async (em) => {
    const user = (await lockUser(em, userId))!
    await deleteLockedAccount(deps, em, { user, mode, actor: null, requestId: undefined, audience: [] })
  })
}
