import type { Invite } from '@gatehouse/domain'
import { AuditEntry, InstanceSettings, OutboxEvent, type User } from '@gatehouse/domain'
import { answered } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { buildInvite, buildUser, readInvite, setGates } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { testPassword } from './quick-hasher.ts'

/** Contract: 4, Invites of members. */
describe('Invites of a member', () => {
  let identity: TestIdentity
  let admin: User
  before(async () => {
    identity = await startTestIdentity()
    admin = await buildUser(identity, { isAdmin: true })
  })
  after(async () => await identity[Symbol.asyncDispose]())

  const em = () => identity.deps.orm.em.fork()
  const statusOf = async ({ id }: Invite) => ((await readInvite(identity, id)).revokedAt ? 'revoked' : 'kept')
  const buildInvites = async ({ id: createdBy }: User) => ({
    unused: await buildInvite(identity, { createdBy, byMember: true }),
    halfUsed: await buildInvite(identity, { createdBy, byMember: true, maxUses: 2, usedCount: 1 }),
    exhausted: await buildInvite(identity, { createdBy, byMember: true, usedCount: 1 }),
    asAdmin: await buildInvite(identity, { createdBy }),
    ofOthers: await buildInvite(identity, { createdBy: admin.id, byMember: true }),
  })
  const statuses = async (invites: Record<string, Invite>) => {
    const told = Object.entries(invites).map(async ([name, invite]) => [name, await statusOf(invite)] as const)
    return Object.fromEntries(await Promise.all(told))
  }
  const afterwards = {
    unused: 'revoked',
    halfUsed: 'revoked',
    exhausted: 'kept',
    asAdmin: 'kept',
    ofOthers: 'kept',
  }
  const auditOf = ({ id }: Invite) => em().findOneOrFail(AuditEntry, { action: 'invite.revoked', targetId: id })

  it('end with a suspension as far as they still admit somebody, and do not come back with its end', async () => {
    await setGates(identity, { registrationOpen: false })
    const user = await buildUser(identity)
    const invites = await buildInvites(user)
    const path = `/api/admin/users/${user.id}`

    await answered(identity.call('POST', `${path}/suspend`, { as: admin, body: {} }))

    expect(await statuses(invites)).to.deep.equal(afterwards)
    expect(await auditOf(invites.unused)).to.deep.include({ actorId: admin.id, detail: { name: 'for a friend' } })
    // The invite service, which does not run here, relays it.
    const waiting = await em().find(OutboxEvent, { subject: 'event.invite.revoked.v1' })
    expect(waiting.map(({ payload }) => payload)).to.deep.include({
      inviteId: invites.unused.id,
      name: 'for a friend',
      at: identity.clock.now(),
      actor: { userId: admin.id, username: admin.username },
    })
    await answered(identity.call('POST', `${path}/unsuspend`, { as: admin }))
    expect(await statuses(invites)).to.deep.equal(afterwards)
    const register = (username: string, { token: inviteToken }: Invite) =>
      identity.call('POST', '/api/auth/register', { body: { username, password: testPassword, inviteToken } })
    expect((await register('late_one', invites.halfUsed)).body['code']).to.equal('invite_invalid')
    expect((await register('right_one', invites.ofOthers)).status).to.equal(201)
  })

  it('end with the account, whoever deletes it, and the audit log names it no more', async () => {
    for (const isOwn of [true, false]) {
      const user = await buildUser(identity)
      const invites = await buildInvites(user)
      const body = { username: user.username, password: testPassword }

      await answered(
        isOwn
          ? identity.call('DELETE', '/api/users/@me', { as: user, body })
          : identity.call('DELETE', `/api/admin/users/${user.id}`, { as: admin }),
      )

      expect(await statuses(invites)).to.deep.equal(afterwards)
      const { actorId, actorUsername } = await auditOf(invites.unused)
      expect([actorId, actorUsername]).to.deep.equal(isOwn ? [user.id, 'Deleted User'] : [admin.id, admin.username])
    }
  })

  it('are named to the account itself while it may make some', async () => {
    const [user, remote] = [
      await buildUser(identity),
      await buildUser(identity, { username: 'eve@away.example', homeInstance: 'away.example' }),
    ]
    const look = async (as: User) => (await identity.call('GET', '/api/users/@me', { as })).body
    expect(await look(user)).to.not.have.property('memberInvites')

    const settings = { as: admin, body: { memberInvites: 3 } }
    expect((await answered(identity.call('PATCH', '/api/settings/instance', settings))).body).to.include(settings.body)

    expect(await look(user)).to.include({ memberInvites: 3 })
    expect((await identity.call('PATCH', '/api/users/@me', { as: user, body: { bio: 'x' } })).body).to.include({
      memberInvites: 3,
    })
    expect(await look(remote)).to.not.have.property('memberInvites')
    expect((await identity.call('GET', `/api/users/${user.id}`, { as: remote })).body).to.not.have.property(
      'memberInvites',
    )
    for (const memberInvites of [-1, 1_001, 1.5, '3', null]) {
      const { status } = await identity.call('PATCH', '/api/settings/instance', { as: admin, body: { memberInvites } })
      expect(status, String(memberInvites)).to.equal(400)
    }
    await em().nativeUpdate(InstanceSettings, { id: 1 }, { memberInvites: 0 })
  })
})
