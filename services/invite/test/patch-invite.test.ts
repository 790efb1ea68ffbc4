import { AuditEntry } from '@gatehouse/domain'
import { expect } from 'chai'
import { startInviteHarness, type InviteHarness } from './harness.ts'

describe('Change of an invite', () => {
  let invites: InviteHarness
  const path = (invite: { id: string }, act = '') => `/api/admin/invites/${invite.id}${act}`

  before(async () => void (invites = await startInviteHarness()))
  after(async () => await invites[Symbol.asyncDispose]())

  it('patches each of the three fields and leaves the others', async () => {
    const invite = await invites.buildInvite({ maxUses: 3 })
    const renamed = await invites.call('PATCH', path(invite), { body: { name: ' Neighbours ' } })
    const limited = await invites.call('PATCH', path(invite), { body: { maxUses: null, expiresAt: 0 } })

    expect(renamed).to.deep.equal({ status: 200, body: { ...invite, name: 'Neighbours' } })
    expect(limited.body).to.deep.equal({
      ...invite,
      name: 'Neighbours',
      maxUses: null,
      expiresAt: 0,
      status: 'expired',
    })
  })

  it('takes an empty patch as no change and writes no audit entry for it', async () => {
    const invite = await invites.buildInvite()
    const answer = await invites.call('PATCH', path(invite), { body: {} })

    expect(answer).to.deep.equal({ status: 200, body: invite })
    expect(await invites.orm.em.fork().count(AuditEntry, { targetId: invite.id })).to.equal(1)
  })

  /** Contract: 4, PATCH. */
  it('refuses to set maxUses below the uses so far, and takes as many', async () => {
    const invite = await invites.buildInvite({ maxUses: 5 })
    await invites.redeem(invite.token)
    await invites.redeem(invite.token)
    const below = await invites.call('PATCH', path(invite), { body: { name: 'lost', maxUses: 1 } })
    const equal = await invites.call('PATCH', path(invite), { body: { maxUses: 2 } })

    expect(below.status).to.equal(400)
    expect(equal.body).to.include({ name: 'friends', maxUses: 2, usedCount: 2, status: 'exhausted' })
  })
})
