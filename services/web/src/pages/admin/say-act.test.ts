import { expect } from 'chai'
import { sayAct } from './say-act.ts'

describe('the words of the audit log', () => {
  it('name an invite by its name and a peer by its host, and tell the rest beside', () => {
    const invite = {
      action: 'invite.created',
      targetId: '31',
      detail: { name: 'Friends', maxUses: 3, expiresAt: null },
    }
    const peer = { action: 'peer.revoked', targetId: '5', detail: { origin: 'https://b.example' } }

    expect(sayAct(invite)).to.deep.equal({
      act: 'made the invite',
      target: 'Friends',
      details: 'maxUses: 3, expiresAt: none',
    })
    expect(sayAct(peer)).to.deep.equal({ act: 'revoked the peer', target: 'b.example', details: '' })
  })

  it('fall back to the id, and to the act as it is written', () => {
    expect(sayAct({ action: 'door.left_open', targetId: '7', detail: {} })).to.deep.equal({
      act: 'door left open',
      target: '7',
      details: '',
    })
  })
})
