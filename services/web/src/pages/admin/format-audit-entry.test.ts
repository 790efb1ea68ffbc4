import { expect } from 'chai'
import { formatAuditEntry } from './format-audit-entry.ts'

describe('formatAuditEntry', () => {
  it('shows an invite by its name, a peer by its host, and the remaining details', () => {
    const invite = {
      action: 'invite.created',
      targetId: '31',
      detail: { name: 'Friends', maxUses: 3, expiresAt: null },
    }
    const peer = { action: 'peer.revoked', targetId: '5', detail: { origin: 'https://b.example' } }

    expect(formatAuditEntry(invite)).to.deep.equal({
      action: 'created the invite',
      target: 'Friends',
      details: 'maxUses: 3, expiresAt: none',
    })
    expect(formatAuditEntry(peer)).to.deep.equal({ action: 'revoked the peer', target: 'b.example', details: '' })
  })

  it('falls back to the id of the target and to the name of the action', () => {
    expect(formatAuditEntry({ action: 'session.not_listed', targetId: '7', detail: {} })).to.deep.equal({
      action: 'session not listed',
      target: '7',
      details: '',
    })
  })
})
