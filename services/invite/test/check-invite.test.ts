import { expect } from 'chai'
import { startInviteHarness, type InviteHarness } from './harness.ts'
import { answered } from '@gatehouse/test-kit'

describe('check-invite', () => {
  let invites: InviteHarness
  const check = async (query: string) => await invites.call('GET', `/api/auth/check-invite${query}`, { as: undefined })

  before(async () => void (invites = await startInviteHarness()))
  after(async () => await invites[Symbol.asyncDispose]())

  it('tells the name of a usable invite', async () => {
    const { token } = await invites.buildInvite({ name: 'Book club' })

    expect(await check(`?token=${token}`)).to.deep.equal({ status: 200, body: { valid: true, name: 'Book club' } })
  })

  it('tells expired and exhausted invites apart, and revoked ones from nothing', async () => {
    const expired = await invites.buildInvite({ expiresAt: invites.clock.now() + 1 })
    const exhausted = await invites.buildInvite({ maxUses: 1 })
    const revoked = await invites.buildInvite({ maxUses: 1, expiresAt: invites.clock.now() + 1 })
    await invites.redeem(exhausted.token)
    await invites.redeem(revoked.token)
    await answered(invites.call('POST', `/api/admin/invites/${revoked.id}/revoke`))
    invites.clock.advance(2)
    const answers = await Promise.all([expired, exhausted, revoked].map(({ token }) => check(`?token=${token}`)))

    expect(answers.map(({ body }) => body)).to.deep.equal([
      { valid: false, reason: 'expired' },
      { valid: false, reason: 'exhausted' },
      { valid: false, reason: 'invalid' },
    ])
  })

  it('Invite status: one that expires at this very millisecond still counts', async () => {
    const { token, expiresAt } = await invites.buildInvite({ expiresAt: invites.clock.now() + 1_000 })
    invites.clock.set(expiresAt!)
    const atTheEdge = await check(`?token=${token}`)
    invites.clock.advance(1)
    const pastIt = await check(`?token=${token}`)

    expect([atTheEdge.body.valid, pastIt.body.valid]).to.deep.equal([true, false])
  })

  it('answers 200 invalid to whatever is no token', async () => {
    const { token } = await invites.buildInvite()
    const queries = [
      '',
      '?token=',
      '?token',
      `?token=${token}&token=${token}`,
      `?token[]=${token}`,
      '?token=%00',
      '?token=%ff',
      '?token=%ED%A0%80',
      '?token=%E0%A4%A',
      `?token=${'x'.repeat(5000)}`,
      `?token=${token}%20`,
      "?token=' or 1=1 --",
      `?TOKEN=${token}`,
    ]
    const answers = await Promise.all(queries.map(check))

    for (const answer of answers) {
      expect(answer).to.deep.equal({ status: 200, body: { valid: false, reason: 'invalid' } })
    }
  })
})
