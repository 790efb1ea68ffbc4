import { expect } from 'chai'
import { deleteAccount } from '../src/operations/deletion/delete-account.ts'
import { deleteFederatedIdentity } from '../src/operations/federation/delete-federated-identity.ts'
import { buildUser, callerOf } from './builders.ts'
import { buildDirectMessage, buildDirectMessages, column } from './chat.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { testPassword } from './quick-hasher.ts'
import type { User } from '@gatehouse/domain'

describe('Tombstone: direct messages', () => {
  let identity: TestIdentity
  before(async () => void (identity = await startTestIdentity()))
  after(async () => await identity[Symbol.asyncDispose]())

  const leave = ({ id, username }: User) =>
    deleteAccount(identity.deps, {
      caller: callerOf(identity, id),
      username,
      password: testPassword,
      address: '127.0.0.1',
    })
  const buildUsers = async () =>
    [await buildUser(identity), await buildUser(identity), await buildUser(identity)] as const

  it('takes the user out and leaves the channel, its messages and its other members', async () => {
    const [leaving, staying] = await buildUsers()
    const channelId = await buildDirectMessages(identity, { members: [leaving, staying] })
    const messageId = await buildDirectMessage(identity, { channelId, author: leaving, reactors: [staying] })

    await leave(leaving)

    const members = await column(identity, 'select user_id from dm_members where channel_id = ?', [channelId])
    expect(members).to.deep.equal([staying.id])
    expect(await column(identity, 'select id from dm_messages where channel_id = ?', [channelId])).to.deep.equal([
      messageId,
    ])
    expect(await column(identity, 'select 1 from dm_attachments where message_id = ?', [messageId])).to.have.length(1)
    expect(await column(identity, 'select user_id from dm_reactions where message_id = ?', [messageId])).to.deep.equal([
      staying.id,
    ])
  })

  it('passes a group to the member who joined first', async () => {
    const [owner, second, third] = await buildUsers()
    const channelId = await buildDirectMessages(identity, { members: [third, owner, second], owner })
    const foreign = await buildDirectMessages(identity, { members: [second, third], owner: second })

    await leave(owner)

    const ownerOf = (id: string) => column(identity, 'select owner_id from dm_channels where id = ?', [id])
    expect(await ownerOf(channelId)).to.deep.equal([third.id])
    expect(await ownerOf(foreign)).to.deep.equal([second.id])
  })

  it('lets the lower id decide between members who joined at once', async () => {
    const [owner, second, third] = await buildUsers()
    const channelId = await buildDirectMessages(identity, { members: [owner, third, second], owner })
    await identity.deps.orm.em.fork().execute("update dm_members set joined_at = '2026-01-01'")

    await leave(owner)

    expect(await column(identity, 'select owner_id from dm_channels where id = ?', [channelId])).to.deep.equal([
      second.id,
    ])
  })

  it('orphans a group whose last member leaves, and purges it with everything in it', async () => {
    const [owner, gone, other] = await buildUsers()
    const channelId = await buildDirectMessages(identity, { members: [owner], owner })
    const messageId = await buildDirectMessage(identity, { channelId, author: gone, reactors: [gone, other] })
    const elsewhere = await buildDirectMessages(identity, { members: [gone, other] })
    const kept = await buildDirectMessage(identity, { channelId: elsewhere, author: gone, reactors: [other] })

    await leave(owner)

    expect(await column(identity, 'select 1 from dm_channels where id = ?', [channelId])).to.deep.equal([])
    expect(await column(identity, 'select 1 from dm_messages where id = ?', [messageId])).to.deep.equal([])
    for (const table of ['dm_attachments', 'dm_reactions']) {
      const left = await column(identity, `select message_id from ${table} where message_id in (?, ?)`, [
        messageId,
        kept,
      ])
      expect(left, table).to.deep.equal([kept])
    }
  })

  it('full mode takes back the reactions of the user only', async () => {
    const [leaving, staying] = await buildUsers()
    const channelId = await buildDirectMessages(identity, { members: [leaving, staying] })
    const messageId = await buildDirectMessage(identity, { channelId, author: staying, reactors: [leaving, staying] })

    await leave(leaving)

    const left = await column(identity, 'select user_id from dm_reactions where message_id = ?', [messageId])
    expect(left).to.deep.equal([staying.id])
  })

  it('soft mode keeps the reactions and still purges channels without members', async () => {
    const remote = await buildUser(identity, { homeInstance: 'home.example', homeUserId: '77' })
    const [staying] = await buildUsers()
    const shared = await buildDirectMessages(identity, { members: [remote, staying] })
    const sharedMessage = await buildDirectMessage(identity, { channelId: shared, author: staying, reactors: [remote] })
    const lonely = await buildDirectMessages(identity, { members: [remote] })
    await buildDirectMessage(identity, { channelId: lonely, author: remote, reactors: [staying] })

    await deleteFederatedIdentity(identity.deps, { homeUserId: '77', homeInstance: 'home.example', mode: 'soft' })

    expect(
      await column(identity, 'select user_id from dm_reactions where message_id = ?', [sharedMessage]),
    ).to.deep.equal([remote.id])
    expect(await column(identity, 'select 1 from dm_channels where id = ?', [lonely])).to.deep.equal([])
    expect(await column(identity, 'select 1 from dm_messages where channel_id = ?', [lonely])).to.deep.equal([])
  })
})
