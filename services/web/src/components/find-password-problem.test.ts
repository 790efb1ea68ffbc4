import { expect } from 'chai'
import { findPasswordProblem } from './find-password-problem.ts'

describe('findPasswordProblem', () => {
  it('counts the minimum in code points, not in bytes', () => {
    expect(findPasswordProblem('ééééééé')).to.match(/at least 8/)
    expect(findPasswordProblem('éééééééé')).to.equal(null)
    expect(findPasswordProblem('🗝️'.repeat(2))).to.match(/at least 8/)
  })

  it('counts the maximum in bytes, since bcrypt reads no further', () => {
    expect(findPasswordProblem('a'.repeat(72))).to.equal(null)
    expect(findPasswordProblem('é'.repeat(37))).to.match(/at most 72 characters/)
  })
})
