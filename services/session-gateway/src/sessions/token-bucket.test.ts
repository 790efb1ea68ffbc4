import { expect } from 'chai'
import fc from 'fast-check'
import { createTokenBucket, takeToken } from './session-registry.ts'

describe('token bucket', () => {
  it('never gives more than its burst and what was refilled since', () => {
    const pauses = fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 200 })
    fc.assert(
      fc.property(pauses, (pausesMs) => {
        const bucket = createTokenBucket(0)
        let now = 0
        let taken = 0
        for (const pauseMs of pausesMs) {
          now += pauseMs
          if (takeToken(bucket, now)) taken += 1
          if (taken > 30 + (now / 1000) * 2 + 1e-6) return false
        }
        return true
      }),
    )
  })

  /** Contract: 6, Messages. */
  it('gives 30 at once, then one every half second', () => {
    const bucket = createTokenBucket(1_000)

    const atOnce = Array.from({ length: 31 }, () => takeToken(bucket, 1_000))

    expect(atOnce.filter(Boolean)).to.have.length(30)
    expect(takeToken(bucket, 1_499)).to.equal(false)
    expect(takeToken(bucket, 1_500)).to.equal(true)
    expect(takeToken(bucket, 1_500)).to.equal(false)
  })

  it('does not lose tokens when the clock steps back', () => {
    const bucket = createTokenBucket(10_000)

    expect(takeToken(bucket, 0)).to.equal(true)
    expect(bucket.tokens).to.equal(29)
  })
})
