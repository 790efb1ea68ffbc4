import { inviteEvents, type EventDefinition, type InviteReply } from '@gatehouse/contracts'
import { AuditEntry, Invite, InviteRedemption, User } from '@gatehouse/domain'
import { eventually, insertUser, answered, type TestRequest } from '@gatehouse/test-kit'
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
    await answered(invites.call('POST', path(revoked, '/revoke')))
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
    await answered(invites.call('PATCH', path(invite), { body: { maxUses: 6 } }))
    await answered(invites.call('POST', path(invite, '/revoke')))
    const { body } = await invites.call<Reinstated>('POST', path(invite, '/reinstate'))
    await answered(invites.call('DELETE', path(invite)))
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
  it('tell every act of an admin, in the order of the acts, with the id of its request and without a token', async () => {
    await using invites = await startInviteHarness()
    const published: { name: string; payload: unknown; requestId: string | undefined }[] = []
    const events: readonly EventDefinition[] = inviteEvents
    await using subscriptions = new AsyncDisposableStack()
    for (const event of events) {
      const subscription = await invites.deps.bus.subscribe(event, async ({ payload, requestId }) => {
        published.push({ name: event.name, payload, requestId })
      })
      subscriptions.use(subscription)
    }
    const created = { name: 'friends', maxUses: 4, expiresAt: null }
    const create = invites.call<InviteReply>('POST', '/api/admin/invites', request('create', created))
    const { body: invite } = await answered(create, 201)
    const path = `/api/admin/invites/${invite.id}`
    await answered(invites.call('PATCH', path, request('change', { name: 'colleagues' })))
    await answered(invites.call('POST', `${path}/revoke`, request('revoke')))
    await answered(invites.call('POST', `${path}/reinstate`, request('reinstate')))
    await answered(invites.call('DELETE', path, request('delete')))

    await eventually('all events arrived', () => published.length === 5)
    const actor = { userId: invites.admin.id, username: 'founder' }
    const ofInvite = { inviteId: invite.id, at: invites.clock.now(), actor }
    expect(published).to.deep.equal([
      { name: 'InviteCreated', payload: { ...ofInvite, name: 'friends' }, requestId: 'create' },
      { name: 'InviteChanged', payload: { ...ofInvite, name: 'colleagues' }, requestId: 'change' },
      { name: 'InviteRevoked', payload: { ...ofInvite, name: 'colleagues' }, requestId: 'revoke' },
      {
        name: 'InviteReinstated',
        payload: { ...ofInvite, name: 'colleagues', tokenRotated: true },
        requestId: 'reinstate',
      },
      { name: 'InviteDeleted', payload: { ...ofInvite, name: 'colleagues' }, requestId: 'delete' },
    ])
  })

  it('are not published when the act is refused', async () => {
    await using invites = await startInviteHarness()
    const invite = await invites.buildInvite()
    const rowsBefore = await invites.orm.em.fork().execute('select * from outbox')

    await answered(invites.call('POST', `/api/admin/invites/${invite.id}/reinstate`), 409)

    expect(await invites.orm.em.fork().execute('select * from outbox')).to.have.length.at.most(rowsBefore.length)
  })
})

function request(requestId: string, body?: object): TestRequest {
  return { headers: { 'X-Request-Id': requestId }, ...(body && { body }) }
}
