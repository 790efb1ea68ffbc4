import { expect } from 'chai'
import { fromLocalInput, sayCountdown, sayMoment, toLocalInput } from './say-moment.ts'

const now = Date.UTC(2026, 4, 1, 12)

describe('moments as a person says them', () => {
  it('names the largest unit that has passed or is to come', () => {
    expect(sayMoment(now - 5 * 60_000, now)).to.equal('5 minutes ago')
    expect(sayMoment(now + 3 * 86_400_000 + 5, now)).to.equal('in 3 days')
    expect(sayMoment(now - 86_400_000, now)).to.equal('yesterday')
  })

  it('does not count seconds', () => {
    expect(sayMoment(now - 59_000, now)).to.equal('just now')
    expect(sayMoment(now + 30_000, now)).to.equal('in a moment')
  })

  it('gives a time back from the input it was put in, to the minute', () => {
    expect(fromLocalInput(toLocalInput(now))).to.equal(now)
    expect(fromLocalInput('')).to.equal(null)
  })

  it('counts down in minutes and two-digit seconds', () => {
    expect(sayCountdown(90)).to.equal('1:30')
    expect(sayCountdown(9)).to.equal('0:09')
  })
})
