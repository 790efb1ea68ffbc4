import { inviteEvents, type EventDefinition, type InviteReply } from '@gatehouse/contracts'
import { AuditEntry, Invite, InviteRedemption, User } from '@gatehouse/domain'
import { eventually, insertUser } from '@gatehouse/test-kit'
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

  it('admits admins only, before it parses their input', async () => {
    const member = { id: invites.admin.id, username: 'member', isAdmin: false }
    const asMember = await invites.call('POST', '/api/admin/invites', { body: { name: 1 }, as: member })
    const anonymous = await invites.call('GET', '/api/admin/invites?limit=x', { as: undefined })

    expect(asMember.status).to.equal(403)
    expect(anonymous.status).to.equal(401)
  })

  it('judges the admin again in the transaction: one who was revoked, demoted or deleted meanwhile changes nothing', async () => {
    const invite = await invites.buildInvite()
    const revoked = await invites.buildInvite()
    await invites.call('POST', path(revoked, '/revoke'))
    const acts = [
      ['POST', '/api/admin/invites', { name: 'late' }],
      ['PATCH', path(invite), { name: 'late' }],
      ['POST', path(invite, '/revoke')],
      ['POST', path(revoked, '/reinstate')],
      ['DELETE', path(invite)],
    ] as const
    const ended = [
      { status: 401, overrides: { isAdmin: true, passwordChangedAt: invites.clock.now() + 1_000 } },
      { status: 403, overrides: { isAdmin: false } },
      { status: 401, overrides: { isAdmin: true, isDeleted: true } },
    ]
    const count = await invites.orm.em.fork().count(Invite)
    for (const { status, overrides } of ended) {
      const { id, username } = await insertUser(invites, overrides)
      for (const [method, url, body] of acts) {
        const answer = await invites.call(method, url, { as: { id, username, isAdmin: true }, ...(body && { body }) })
        expect(answer.status, `${method} ${url}`).to.equal(status)
      }
    }
    expect(await invites.orm.em.fork().count(Invite)).to.equal(count)
    expect(await invites.orm.em.fork().findOneOrFail(Invite, { id: invite.id })).to.include({ name: invite.name })
  })

  it('keeps an audit log of every act, without a token', async () => {
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
    for (const entry of entries) expect(entry).to.include({ actorId: invites.admin.id, actorUsername: 'founder' })
    expect(JSON.stringify(entries)).to.not.include(invite.token).and.not.include(body.invite.token)
  })
})

describe('Invite events', () => {
  it('tell every act of an admin, in the order of the acts and without a token', async () => {
    await using invites = await startInviteHarness()
    const published: { name: string; payload: unknown }[] = []
    const events: readonly EventDefinition[] = inviteEvents
    await using subscriptions = new AsyncDisposableStack()
    for (const event of events) {
      const subscription = await invites.deps.bus.subscribe(event, async ({ payload }) => {
        published.push({ name: event.name, payload })
      })
      subscriptions.use(subscription)
    }
    const invite = await invites.buildInvite({ maxUses: 4 })
    const path = `/api/admin/invites/${invite.id}`
    await invites.call('PATCH', path, { body: { name: 'colleagues' } })
    await invites.call('POST', `${path}/revoke`)
    await invites.call('POST', `${path}/reinstate`)
    await invites.call('DELETE', path)

    await eventually('all events arrived', () => published.length === 5)
    const actor = { userId: invites.admin.id, username: 'founder' }
    const ofInvite = { inviteId: invite.id, at: invites.clock.now(), actor }
    expect(published).to.deep.equal([
      { name: 'InviteCreated', payload: { ...ofInvite, name: 'friends' } },
      { name: 'InviteChanged', payload: { ...ofInvite, name: 'colleagues' } },
      { name: 'InviteRevoked', payload: { ...ofInvite, name: 'colleagues' } },
      { name: 'InviteReinstated', payload: { ...ofInvite, name: 'colleagues', tokenRotated: true } },
      { name: 'InviteDeleted', payload: { ...ofInvite, name: 'colleagues' } },
    ])
  })

  it('are not published when the act is refused', async () => {
    await using invites = await startInviteHarness()
    const invite = await invites.buildInvite()
    const rowsBefore = await invites.orm.em.fork().execute('select * from outbox')

    await invites.call('POST', `/api/admin/invites/${invite.id}/reinstate`)

    expect(await invites.orm.em.fork().execute('select * from outbox')).to.have.length.at.most(rowsBefore.length)
  })
})
