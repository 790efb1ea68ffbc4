import type { InviteReply } from '@gatehouse/contracts'
import { Invite } from '@gatehouse/domain'
import { expect } from 'chai'
import { origin, startInviteHarness, type InviteHarness } from './harness.ts'
import { answered } from '@gatehouse/test-kit'

type Refused = { code: string }
type Reinstated = { invite: InviteReply; tokenRotated: boolean }

describe('Revocation and reinstatement of an invite', () => {
  let invites: InviteHarness
  const path = (invite: { id: string }, act = '') => `/api/admin/invites/${invite.id}${act}`
  const load = async ({ id }: { id: string }) => await invites.orm.em.fork().findOneOrFail(Invite, { id })
  const check = async (token: string) => (await invites.call('GET', `/api/auth/check-invite?token=${token}`)).body

  before(async () => void (invites = await startInviteHarness()))
  after(async () => await invites[Symbol.asyncDispose]())

  /** Contract: 4, revoke. */
  it('Invite status: revoking ends an invite once, and it cannot be patched then', async () => {
    const invite = await invites.buildInvite()
    const first = await invites.call('POST', path(invite, '/revoke'))
    const again = await invites.call('POST', path(invite, '/revoke'))
    const patched = await invites.call('PATCH', path(invite), { body: { name: 'other' } })

    expect(first).to.deep.equal({
      status: 200,
      body: { invite: { ...invite, status: 'revoked', revokedAt: invites.clock.now() } },
    })
    expect([again.status, patched.status]).to.deep.equal([409, 409])
  })

  it('Invite status: reinstating a revoked invite rotates its token, and the old link stays unusable', async () => {
    const invite = await invites.buildInvite()
    await answered(invites.call('POST', path(invite, '/revoke')))
    const { body } = await invites.call<Reinstated>('POST', path(invite, '/reinstate'))
    const [oldLink, newLink] = await Promise.all([check(invite.token), check(body.invite.token)])

    expect(body).to.deep.include({ tokenRotated: true })
    expect(body.invite).to.include({ status: 'active', revokedAt: null })
    expect(body.invite.url).to.equal(`${origin}/register?invite=${body.invite.token}`)
    expect([oldLink, newLink]).to.deep.equal([
      { valid: false, reason: 'invalid' },
      { valid: true, name: 'friends' },
    ])
  })

  it('Invite status: reinstating an expired or exhausted invite keeps its token', async () => {
    const expired = await invites.buildInvite({ expiresAt: invites.clock.now() + 1 })
    const exhausted = await invites.buildInvite({ maxUses: 1 })
    await invites.redeem(exhausted.token)
    invites.clock.advance(2)
    const later = await invites.call('POST', path(expired, '/reinstate'), { body: { expiresAt: null } })
    const wider = await invites.call('POST', path(exhausted, '/reinstate'), { body: { maxUses: 2 } })

    expect(later.body).to.deep.equal({ invite: { ...expired, expiresAt: null }, tokenRotated: false })
    expect(wider.body.tokenRotated).to.equal(false)
    expect(wider.body.invite).to.include({ token: exhausted.token, status: 'active', maxUses: 2, usedCount: 1 })
  })

  it('Invite status: reinstating an active invite is refused with 409', async () => {
    const invite = await invites.buildInvite({ maxUses: 2 })
    const answer = await invites.call('POST', path(invite, '/reinstate'), { body: { maxUses: 9 } })

    expect(answer.status).to.equal(409)
    expect(await load(invite)).to.include({ maxUses: 2 })
  })

  /** Contract: 4, reinstate. */
  it('changes nothing when a reinstated invite would still not be active', async () => {
    const invite = await invites.buildInvite({ maxUses: 1 })
    await invites.redeem(invite.token)
    await answered(invites.call('POST', path(invite, '/revoke')))
    const before = await load(invite)
    const answers = [
      await invites.call<Refused>('POST', path(invite, '/reinstate')),
      await invites.call<Refused>('POST', path(invite, '/reinstate'), { body: { maxUses: 1, expiresAt: null } }),
      await invites.call<Refused>('POST', path(invite, '/reinstate'), { body: { maxUses: 9, expiresAt: 1 } }),
    ]

    expect(answers.map(({ status, body }) => [status, body.code])).to.deep.equal(
      Array(3).fill([400, 'invite_still_ended']),
    )
    expect(await load(invite)).to.deep.equal(before)
  })

  /** Contract: 4, reinstate. */
  it('stays revoked where every token that is drawn for it is taken', async () => {
    const { token } = await invites.buildInvite()
    const revoked = await invites.buildInvite()
    await answered(invites.call('POST', path(revoked, '/revoke')))
    const before = await load(revoked)
    invites.tokens.push(token, token, token, token)

    const refused = await invites.call<Refused>('POST', path(revoked, '/reinstate'))

    expect([refused.status, refused.body.code]).to.deep.equal([503, 'no_free_token'])
    expect(invites.tokens).to.deep.equal([])
    expect(await load(revoked)).to.deep.equal(before)
    await answered(invites.call('POST', path(revoked, '/reinstate')))
  })
})
