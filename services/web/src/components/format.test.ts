import { expect } from 'chai'
import { formatCountdown, formatRelativeTime, fromDateTimeInput, toDateTimeInput } from './format.ts'

const now = Date.UTC(2026, 4, 1, 12)

describe('time formats', () => {
  it('show a relative time in its largest unit, past or future', () => {
    expect(formatRelativeTime(now - 5 * 60_000, now)).to.equal('5 minutes ago')
    expect(formatRelativeTime(now + 3 * 86_400_000 + 5, now)).to.equal('in 3 days')
    expect(formatRelativeTime(now - 86_400_000, now)).to.equal('yesterday')
  })

  it('do not show relative seconds', () => {
    expect(formatRelativeTime(now - 59_000, now)).to.equal('just now')
    expect(formatRelativeTime(now + 30_000, now)).to.equal('in a moment')
  })

  it('convert to a datetime-local input and back, to the minute', () => {
    expect(fromDateTimeInput(toDateTimeInput(now))).to.equal(now)
    expect(fromDateTimeInput('')).to.equal(null)
  })

  it('show a countdown as minutes and two-digit seconds', () => {
    expect(formatCountdown(90)).to.equal('1:30')
    expect(formatCountdown(9)).to.equal('0:09')
  })
})
