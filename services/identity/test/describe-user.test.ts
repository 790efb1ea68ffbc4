import { listOpenSockets } from '@gatehouse/contracts'
import { nextId } from '@gatehouse/database'
import { InviteRedemption, Passkey, type User } from '@gatehouse/domain'
import { answered } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { turnOn } from './authenticator.ts'
import { buildInvite, buildUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { testPassword } from './quick-hasher.ts'

const socket = { sessionId: 'a session', connectedAt: 5, network: '192.0.2.0/24', userAgent: 'a browser' }

/** Contract: 5, A user. */
describe('GET /api/admin/users/:id', () => {
  let identity: TestIdentity
  let admin: User
  before(async () => {
    identity = await startTestIdentity()
    admin = await buildUser(identity, { isAdmin: true })
  })
  after(async () => await identity[Symbol.asyncDispose]())

  const look = (id: string, as: User = admin) => identity.call('GET', `/api/admin/users/${id}`, { as })

  async function redeem(user: User): Promise<string> {
    const invite = await buildInvite(identity, { createdBy: admin.id })
    const em = identity.deps.orm.em.fork()
    const redemption = { id: await nextId(em), inviteId: invite.id, userId: user.id, registrantUsername: user.username }
    await em.insert(InviteRedemption, { ...redemption, redeemedAt: new Date(5) })
    return invite.id
  }

  it('shows by whom an account came, where it is open, how it logs in, and what was done to it', async () => {
    const user = await buildUser(identity)
    const inviteId = await redeem(user)
    const body = { username: user.username, password: testPassword }
    const lastLoginAt = identity.clock.now()
    await answered(identity.call('POST', '/api/auth/login', { body }))
    await turnOn(identity, user)
    const key = { credentialId: 'one', publicKey: 'key', counter: 0, name: 'a key', createdAt: new Date(5) }
    await identity.deps.orm.em.fork().insert(Passkey, { id: user.id, userId: user.id, ...key })
    await answered(
      identity.call('POST', `/api/admin/users/${user.id}/suspend`, { as: admin, body: { reason: 'spam' } }),
    )
    await using _ = await identity.deps.bus.respond(listOpenSockets, async ({ userId }) => ({
      sockets: userId === user.id ? [socket] : [],
      incomplete: false,
    }))

    const { body: found } = await answered(look(user.id))

    const { user: shown, audit, ...rest } = found as { user: object; audit: object[] }
    expect(rest).to.deep.equal({
      invitedBy: { inviteId, name: 'for a friend', userId: admin.id, username: admin.username },
      invited: [],
      sockets: [socket],
      incomplete: false,
      passkeys: 1,
      identities: [],
      secondFactor: true,
      lastLoginAt,
      instances: [],
      orders: [],
    })
    expect(shown).to.include({ id: user.id, username: user.username, suspendedReason: 'spam', secondFactor: true })
    expect(shown).to.not.have.any.keys('passwordHash', 'showActivity')
    expect(audit.map((entry) => (entry as { action: string }).action)).to.deep.equal(['user.suspended'])
  })

  it('shows what is left of a deleted account, and no sockets as far as nobody tells them', async () => {
    const user = await buildUser(identity)
    const inviteId = await redeem(user)
    await answered(identity.call('DELETE', `/api/admin/users/${user.id}`, { as: admin }))

    const { body } = await answered(look(user.id))

    expect(body['user']).to.deep.include({ id: user.id, username: 'Deleted User', isDeleted: true })
    expect(body['invitedBy']).to.deep.include({ inviteId })
    expect((body['audit'] as object[])[0]).to.include({ action: 'user.deleted', targetName: 'Deleted User' })
    const { sockets, incomplete, passkeys, secondFactor, lastLoginAt } = body
    const rest = { sockets, incomplete, passkeys, secondFactor, lastLoginAt }
    expect(rest).to.deep.equal({ sockets: [], incomplete: true, passkeys: 0, secondFactor: false, lastLoginAt: null })
  })

  it('shows who came by the invites of an account, the latest first, without who is deleted', async () => {
    const [first, deleted, last] = [await buildUser(identity), await buildUser(identity), await buildUser(identity)]
    for (const user of [first, deleted, last]) await redeem(user)
    await answered(identity.call('DELETE', `/api/admin/users/${deleted.id}`, { as: admin }))

    const invited = (await look(admin.id)).body['invited'] as { id: string }[]

    expect(invited.slice(0, 2)).to.deep.equal([last, first].map(({ id, username }) => ({ id, username })))
    expect(invited.map(({ id }) => id)).to.not.include(deleted.id)
  })

  it('is for admins, of known ids', async () => {
    const user = await buildUser(identity)

    expect((await look(user.id, user)).status).to.equal(403)
    const { status, body } = await look('1')
    expect([status, body['code']]).to.deep.equal([404, 'user_unknown'])
    expect((await look('instances')).status).to.equal(200)
  })
})
