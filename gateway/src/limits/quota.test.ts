import { expect } from 'chai'
import { createQuota } from './quota.ts'

describe('createQuota', () => {
  it('takes up to the maximum of each key, and again after a release', () => {
    const quota = createQuota(2)

    expect([quota.take('a'), quota.take('a'), quota.take('a'), quota.take('b')]).to.deep.equal([
      true,
      true,
      false,
      true,
    ])
    quota.release('a')
    expect([quota.take('a'), quota.take('a')]).to.deep.equal([true, false])
  })

  it('counts amounts', () => {
    const quota = createQuota(10)

    expect([quota.take('a', 8), quota.take('a', 3), quota.take('a', 2)]).to.deep.equal([true, false, true])
    quota.release('a', 10)
    expect(quota.take('a', 10)).to.equal(true)
  })
})
