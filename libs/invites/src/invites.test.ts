import { expect } from 'chai'
import { deriveInviteStatus } from './invites.ts'

describe('Invite status', () => {
  const now = Date.UTC(2026, 0, 1)
  const fresh = { revokedAt: null, expiresAt: null, maxUses: null, usedCount: 0 }
  const past = new Date(now - 1)

  it('is active without limits, however often it was used', () => {
    expect(deriveInviteStatus({ ...fresh, usedCount: 1_000_000 }, now)).to.equal('active')
  })

  it('is exhausted when the uses reach the limit', () => {
    expect(deriveInviteStatus({ ...fresh, maxUses: 2, usedCount: 1 }, now)).to.equal('active')
    expect(deriveInviteStatus({ ...fresh, maxUses: 2, usedCount: 2 }, now)).to.equal('exhausted')
  })

  it('is expired when expiresAt is earlier than now, not when it is now', () => {
    expect(deriveInviteStatus({ ...fresh, expiresAt: new Date(now) }, now)).to.equal('active')
    expect(deriveInviteStatus({ ...fresh, expiresAt: past }, now)).to.equal('expired')
  })

  it('is revoked before expired before exhausted', () => {
    const ended = { revokedAt: past, expiresAt: past, maxUses: 1, usedCount: 1 }

    expect(deriveInviteStatus(ended, now)).to.equal('revoked')
    expect(deriveInviteStatus({ ...ended, revokedAt: null }, now)).to.equal('expired')
    expect(deriveInviteStatus({ ...ended, revokedAt: null, expiresAt: null }, now)).to.equal('exhausted')
  })
})
