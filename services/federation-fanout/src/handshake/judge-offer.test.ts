import { expect } from 'chai'
import { hashToken } from '../peers/signature.ts'
import { judgeOffer, type OfferVerdict } from './offers.ts'

type Known = NonNullable<Parameters<typeof judgeOffer>[0]>

const own = 'https://gate.example'
const origin = 'https://nova.example'
const offer = { origin, secret: 'their secret', instanceName: null, instanceId: null, approvalToken: null }

const known = (changes: Partial<Known>): Known => ({
  origin,
  status: 'pending',
  reason: null,
  secret: 'our secret',
  adminDecided: true,
  approvalTokenHash: null,
  presentedToken: null,
  ...changes,
})

describe('an offer, judged by the state of its origin', () => {
  const cases: [string, Partial<Known> | null, Partial<typeof offer> | { approvalToken: string }, OfferVerdict][] = [
    ['of an unknown origin', null, {}, 'new'],
    ['of an active peer', { status: 'active' }, {}, 'exists'],
    ['of an active peer with the secret in force', { status: 'active' }, { secret: 'our secret' }, 'repeated'],
    ['of an unreachable peer', { status: 'unreachable' }, { secret: 'our secret' }, 'exists'],
    ['of a parked peer', { status: 'needs_attention' }, { secret: 'our secret' }, 'exists'],
    ['of a revoked peer', { status: 'revoked' }, { secret: 'our secret' }, 'final'],
    ['that an admin here denied', { status: 'rejected', reason: 'denied_by_admin' }, {}, 'final'],
    ['that expired here', { status: 'rejected', reason: 'expired' }, {}, 'final'],
    ['of a peer that denied ours', { status: 'rejected', reason: 'denied_by_peer' }, {}, 'new'],
    ['of a peer where nobody decided on ours', { status: 'rejected', reason: 'expired_by_peer' }, {}, 'new'],
    ['of a peer that refused ours', { status: 'rejected', reason: 'refused_by_peer' }, {}, 'new'],
    ['of a peer that revoked us', { status: 'rejected', reason: 'revoked_by_peer' }, {}, 'new'],
    ['while ours is under way', { status: 'pending' }, {}, 'crosses'],
    ['while ours waits there', { status: 'awaiting_approval', approvalTokenHash: hashToken('T') }, {}, 'crosses'],
    [
      'with the token of its 202',
      { status: 'awaiting_approval', approvalTokenHash: hashToken('T') },
      { approvalToken: 'T' },
      'completes',
    ],
    [
      'with another token',
      { status: 'awaiting_approval', approvalTokenHash: hashToken('T') },
      { approvalToken: 't' },
      'crosses',
    ],
    ['with a token where none was given', { status: 'awaiting_approval' }, { approvalToken: '' }, 'crosses'],
    [
      'with the token while our second pass is under way',
      { status: 'awaiting_approval', approvalTokenHash: hashToken('T'), presentedToken: 'U' },
      { approvalToken: 'T' },
      'crosses',
    ],
  ]
  for (const [name, peer, changes, verdict] of cases) {
    it(`${name}: ${verdict}`, () => {
      const judged = judgeOffer(peer && known(peer), { ...offer, ...changes }, { own, autoAccept: true })

      expect(judged).to.equal(verdict)
    })
  }

  it('yields to a second pass of an origin that sorts first', () => {
    const peer = known({ status: 'awaiting_approval', approvalTokenHash: hashToken('T'), presentedToken: 'U' })
    const given = { ...offer, approvalToken: 'T' }

    expect(judgeOffer(peer, given, { own: 'https://zeta.example', autoAccept: false })).to.equal('completes')
  })

  it('is new where only a user caused the handshake and offers are not accepted automatically', () => {
    const peer = known({ status: 'awaiting_approval', approvalTokenHash: hashToken('T'), adminDecided: false })
    const given = { ...offer, approvalToken: 'T' }

    expect(judgeOffer(peer, given, { own, autoAccept: false })).to.equal('new')
    expect(judgeOffer(peer, given, { own, autoAccept: true })).to.equal('completes')
  })
})
