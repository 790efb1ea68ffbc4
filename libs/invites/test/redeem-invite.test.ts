import { randomBytes } from 'node:crypto'
import { nextId } from '@gatehouse/database'
import { Invite, InviteRedemption, User } from '@gatehouse/domain'
import { openMigratedDatabase } from '@gatehouse/test-kit'
import type { EntityManager, MikroORM } from '@mikro-orm/postgresql'
import { expect } from 'chai'
import { activeInvites, deriveInviteStatus, findInvite, lockActiveInvite, recordRedemption } from '../src/invites.ts'

describe('Registration 11: redemption of an invite', () => {
  const now = Date.UTC(2026, 0, 1)
  let database: AsyncDisposable & { orm: MikroORM }
  let orm: MikroORM

  before(async () => {
    database = await openMigratedDatabase({ connections: 20 })
    orm = database.orm
  })
  after(async () => await database[Symbol.asyncDispose]())

  it('counts the use and records the account, in one transaction with the user', async () => {
    const { token, id } = await buildInvite({ maxUses: 2 })
    const user = await redeem(token)

    expect(await tally(id)).to.deep.equal({ usedCount: 1, redemptions: 1 })
    expect(await orm.em.fork().findOneOrFail(InviteRedemption, { inviteId: id })).to.include({
      userId: user.id,
      registrantUsername: user.username,
    })
    expect(await orm.em.fork().findOneOrFail(Invite, { id })).to.deep.include({ lastRedeemedAt: new Date(now) })
  })

  it('leaves no trace when the user cannot be inserted', async () => {
    const { token, id } = await buildInvite({ maxUses: 1 })
    const { username } = await orm.em.fork().transactional(insertUser)
    const taken = await redeem(token, (em) => insertUser(em, username)).catch((error: unknown) => error)

    expect(taken).to.include({ constraint: 'users_username_unique' })
    expect(await tally(id)).to.deep.equal({ usedCount: 0, redemptions: 0 })
    await redeem(token)
    expect(await tally(id)).to.deep.equal({ usedCount: 1, redemptions: 1 })
  })

  it('leaves no user when the transaction fails after it', async () => {
    const { token, id } = await buildInvite()
    const username = freshName()
    const failing = orm.em.fork().transactional(async (em) => {
      await redeemIn(em, token, () => insertUser(em, username))
      throw new Error('the token could not be signed')
    })
    await failing.catch(() => undefined)

    expect(await orm.em.fork().count(User, { username })).to.equal(0)
    expect(await tally(id)).to.deep.equal({ usedCount: 0, redemptions: 0 })
  })

  it('gives the last slot to exactly one of sixteen', async () => {
    const { token, id } = await buildInvite({ maxUses: 3, usedCount: 2 })
    const outcomes = await Promise.allSettled(Array.from({ length: 16 }, () => redeem(token)))
    const refusals = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as Error] : []))

    expect(refusals).to.have.length(15)
    for (const refusal of refusals) expect(refusal).to.include({ code: 'invite_invalid', status: 403 })
    expect(await tally(id)).to.deep.equal({ usedCount: 3, redemptions: 1 })
  })

  it('refuses unknown, revoked, expired and exhausted invites before the user is inserted', async () => {
    const ended = [
      await buildInvite({ revokedAt: new Date(now) }),
      await buildInvite({ expiresAt: new Date(now - 1) }),
      await buildInvite({ maxUses: 1, usedCount: 1 }),
    ]
    let inserted = 0
    const insert = async (em: EntityManager) => {
      inserted += 1
      return await insertUser(em)
    }
    const attempts = ['unknown', ...ended.map(({ token }) => token)].map((token) => redeem(token, insert))
    const outcomes = await Promise.allSettled(attempts)

    expect(outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.message)).to.deep.equal(
      outcomes.map(() => 'Invalid or expired invite'),
    )
    expect(inserted).to.equal(0)
  })

  it('reads the row again although the same transaction has read it before', async () => {
    const { token, id } = await buildInvite({ maxUses: 1 })
    const outcome = orm.em.fork().transactional(async (em) => {
      await findInvite(em, { token, now })
      await redeem(token)
      return await redeemIn(em, token, () => insertUser(em))
    })

    expect(await outcome.catch((error: unknown) => error)).to.include({ code: 'invite_invalid' })
    expect(await tally(id)).to.deep.equal({ usedCount: 1, redemptions: 1 })
  })

  it('Invite status: the query for active invites agrees with the derived status', async () => {
    for (const revokedAt of [null, new Date(now)]) {
      for (const expiresAt of [null, new Date(now - 1), new Date(now), new Date(now + 1)]) {
        for (const maxUses of [null, 1, 2]) await buildInvite({ revokedAt, expiresAt, maxUses, usedCount: 1 })
      }
    }
    const em = orm.em.fork()
    const all = await em.find(Invite, {})
    const derived = all.filter((invite) => deriveInviteStatus(invite, now) === 'active').map(({ id }) => id)
    const active = await em.find(Invite, activeInvites(now))
    const archived = await em.find(Invite, { $not: activeInvites(now) })

    expect(active.map(({ id }) => id)).to.have.members(derived)
    expect(archived).to.have.length(all.length - active.length)
  })

  async function redeem(token: string, insert: (em: EntityManager) => Promise<User> = insertUser): Promise<User> {
    return await orm.em.fork().transactional(async (em) => await redeemIn(em, token, () => insert(em)))
  }

  /** The steps of a registration with an invite, in its order. */
  async function redeemIn(em: EntityManager, token: string, insert: () => Promise<User>): Promise<User> {
    const invite = await lockActiveInvite(em, { token, now })
    const user = await insert()
    await recordRedemption(em, { invite, user, now })
    return user
  }

  async function buildInvite(overrides: Partial<Invite> = {}): Promise<Invite> {
    const em = orm.em.fork()
    const token = randomBytes(16).toString('base64url')
    const invite = em.create(Invite, {
      id: await nextId(em),
      token,
      name: 'friends',
      createdAt: new Date(now),
      ...overrides,
    })
    await em.persist(invite).flush()
    return invite
  }

  async function tally(id: string) {
    const { usedCount } = await orm.em.fork().findOneOrFail(Invite, { id })
    return { usedCount, redemptions: await orm.em.fork().count(InviteRedemption, { inviteId: id }) }
  }
})

async function insertUser(em: EntityManager, username = freshName()): Promise<User> {
  const user = em.create(User, { id: await nextId(em), username, passwordHash: '!unverifiable', createdAt: new Date() })
  await em.persist(user).flush()
  return user
}

function freshName(): string {
  return `user_${randomBytes(6).toString('hex')}`
}
