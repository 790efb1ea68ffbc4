import { expect } from 'chai'
import fc from 'fast-check'
import { isOffering, winsTieBreak } from './offer.ts'

describe('offers that cross', () => {
  it('are decided alike at both ends', () => {
    fc.assert(
      fc.property(fc.webUrl(), fc.webUrl(), (one, other) => {
        fc.pre(one !== other)
        return winsTieBreak(one, other) !== winsTieBreak(other, one)
      }),
    )
  })

  it('are under way for a minute, while the peer is pending', () => {
    const offeredAt = new Date(1_000)

    expect(isOffering({ status: 'pending', offeredAt }, 60_999)).to.equal(true)
    expect(isOffering({ status: 'pending', offeredAt }, 61_000)).to.equal(false)
    expect(isOffering({ status: 'pending', offeredAt: null }, 1_000)).to.equal(false)
    expect(isOffering({ status: 'active', offeredAt }, 1_000)).to.equal(false)
  })
})
