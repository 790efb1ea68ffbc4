import { expect } from 'chai'
import { explainPeer, peerStates } from './peer-states.ts'

describe('The states of a peer', () => {
  it('offer what the instance accepts in them', () => {
    const acts = Object.entries(peerStates).map(([status, state]) => `${status}: ${state.acts.join(', ')}`)

    expect(acts).to.deep.equal([
      'active: rotate, revoke',
      'pending: revoke',
      'awaiting_approval: revoke',
      'unreachable: recheck, revoke',
      'needs_attention: recheck, reset, revoke',
      'rejected: forget',
      'revoked: forget',
    ])
  })

  it('are explained by their reason, else by the state where its name does not say enough', () => {
    expect(explainPeer({ status: 'rejected', reason: 'denied_by_peer' })).to.equal(
      'The other instance denied the request.',
    )
    expect(explainPeer({ status: 'pending', reason: null })).to.match(/No response yet/)
    expect(explainPeer({ status: 'active', reason: null })).to.equal(null)
    expect(explainPeer({ status: 'rejected', reason: 'of a newer server' })).to.equal('of a newer server')
  })
})
