import { expect } from 'chai'
import { proofCounterMax } from './proof-of-work.ts'

/** Contract: 3, Proof of work. */
describe('The difficulty of a proof of work', () => {
  it('rises with the registrations of the last hour, up to what a slow phone does in five seconds', () => {
    const levels = [0, 10, 11, 50, 100, 1_000_000].map(proofCounterMax)

    expect(levels).to.deep.equal([30, 30, 33, 150, 300, 300])
  })
})
