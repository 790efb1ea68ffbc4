import { expect } from 'chai'
import { findPasswordProblem } from './find-password-problem.ts'

describe('the check of a new password', () => {
  it('counts characters as people do, not bytes, for the minimum', () => {
    expect(findPasswordProblem('ééééééé')).to.match(/at least 8/)
    expect(findPasswordProblem('éééééééé')).to.equal(null)
    expect(findPasswordProblem('🗝️'.repeat(2))).to.match(/at least 8/)
  })

  it('counts bytes for the maximum, since the hash reads no further', () => {
    expect(findPasswordProblem('a'.repeat(72))).to.equal(null)
    expect(findPasswordProblem('é'.repeat(37))).to.match(/at most 72 bytes/)
  })
})
