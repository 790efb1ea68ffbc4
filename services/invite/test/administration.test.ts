import type { InviteReply } from '@gatehouse/contracts'
import { AuditEntry, InviteRedemption, User } from '@gatehouse/domain'
import { expect } from 'chai'
import { startInviteHarness, type InviteHarness } from './harness.ts'

type Reinstated = { invite: InviteReply; tokenRotated: boolean }

describe('Admin invite management', () => {
  let invites: InviteHarness
  const path = (invite: { id: string }, act = '') => `/api/admin/invites/${invite.id}${act}`

  before(async () => void (invites = await startInviteHarness()))
  after(async () => await invites[Symbol.asyncDispose]())

  it('Invite redemption: the records go with their invite, the accounts stay', async () => {
    const invite = await invites.buildInvite()
    const user = await invites.redeem(invite.token)
    const first = await invites.call('DELETE', path(invite))
    const again = await invites.call('DELETE', path(invite))

    expect(first).to.deep.equal({ status: 200, body: { success: true } })
    expect(again.status).to.equal(404)
    expect(await invites.orm.em.fork().count(InviteRedemption, { inviteId: invite.id })).to.equal(0)
    expect(await invites.orm.em.fork().count(User, { id: user.id })).to.equal(1)
  })

  it('answers 404 for unknown ids and 400 for what is no id', async () => {
    const acts = [
      ['PATCH', ''],
      ['POST', '/revoke'],
      ['POST', '/reinstate'],
      ['DELETE', ''],
      ['GET', '/redemptions'],
    ] as const
    const statuses = async (id: string) =>
      await Promise.all(acts.map(async ([method, act]) => (await invites.call(method, path({ id }, act))).status))

    expect(await statuses('1')).to.deep.equal([404, 404, 404, 404, 404])
    expect(await statuses('9223372036854775808')).to.deep.equal([400, 400, 400, 400, 400])
    expect(await statuses('%00')).to.deep.equal([400, 400, 400, 400, 400])
  })

  it('lets nobody but admins in, before it looks at their input', async () => {
    const member = { userId: invites.admin.userId, username: 'member', isAdmin: false }
    const asMember = await invites.call('POST', '/api/admin/invites', { body: { name: 1 }, account: member })
    const asNobody = await invites.call('GET', '/api/admin/invites?limit=x', { account: null })

    expect(asMember.status).to.equal(403)
    expect(asNobody.status).to.equal(401)
  })

  it('keeps an audit log of every act, without a token in it', async () => {
    const invite = await invites.buildInvite({ maxUses: 4 })
    await invites.call('PATCH', path(invite), { body: { maxUses: 6 } })
    await invites.call('POST', path(invite, '/revoke'))
    const { body } = await invites.call<Reinstated>('POST', path(invite, '/reinstate'))
    await invites.call('DELETE', path(invite))
    const entries = await invites.orm.em.fork().find(AuditEntry, { targetId: invite.id }, { orderBy: { id: 'asc' } })

    expect(entries.map(({ action }) => action)).to.deep.equal([
      'invite.created',
      'invite.changed',
      'invite.revoked',
      'invite.reinstated',
      'invite.deleted',
    ])
    for (const entry of entries) expect(entry).to.include({ actorId: invites.admin.userId, actorUsername: 'founder' })
    expect(JSON.stringify(entries)).to.not.include(invite.token).and.not.include(body.invite.token)
  })
})
