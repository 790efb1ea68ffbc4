import { expect } from 'chai'
import { backoffMs } from './time.ts'

describe('backoff', () => {
  const limits = { firstMs: 100, mostMs: 30_000 }

  it('starts with the first delay, doubles, and stays at the longest', () => {
    const delays = Array.from({ length: 11 }, (_, attempt) => backoffMs(attempt, limits))

    expect(delays).to.deep.equal([100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000])
  })

  it('is finite after any number of attempts', () => {
    expect(backoffMs(1_000_000, limits)).to.equal(30_000)
    expect(backoffMs(-1, limits)).to.equal(100)
  })

  it('follows a table, whose last delay repeats', () => {
    expect([-1, 0, 1, 2, 1_000_000].map((attempt) => backoffMs(attempt, [30, 60, 300]))).to.deep.equal([
      30, 30, 60, 300, 300,
    ])
  })
})
