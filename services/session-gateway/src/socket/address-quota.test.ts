import { expect } from 'chai'
import { createAddressQuota } from './address-quota.ts'

describe('quota of unauthenticated sockets', () => {
  it('counts each key on its own and gives places back', () => {
    const quota = createAddressQuota(2)

    const taken = [quota.take('a'), quota.take('a'), quota.take('a'), quota.take('b')]
    quota.release('a')

    expect(taken).to.deep.equal([true, true, false, true])
    expect(quota.take('a')).to.equal(true)
    expect(quota.size).to.equal(3)
  })
})
