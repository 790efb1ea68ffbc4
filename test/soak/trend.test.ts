import { expect } from 'chai'
import { seededRandom } from '../fuzz/random.ts'
import { fitTrend, judgeTrend, type Point } from './trend.ts'

type Noise = { seed: number; samples?: number; likeBefore?: number; size?: number }

/** Samples of a minute: normal noise of which each keeps `likeBefore` of the one before, around 100 and a slope an hour. */
function series(slopePerHour: number, { seed, samples = 300, likeBefore = 0, size = 1 }: Noise): Point[] {
  const random = seededRandom(seed)
  const uniform = () => (random.below(1e6) + 1) / (1e6 + 1)
  const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform())
  let noise = normal()
  return Array.from({ length: samples }, (_, index): Point => {
    noise = likeBefore * noise + Math.sqrt(1 - likeBefore ** 2) * normal()
    return [index / 60, 100 + (slopePerHour * index) / 60 + size * noise]
  })
}
const seeds = Array.from({ length: 400 }, (_, index) => index + 1)
const risen = (verdicts: readonly string[]) => verdicts.filter((verdict) => verdict === 'rises').length

describe('The trend of a series', () => {
  for (const likeBefore of [0, 0.5, 0.8]) {
    it(`finds a leak of 1 % an hour under noise whose samples keep ${likeBefore} of the one before, and no leak without`, () => {
      const judge = (slope: number) =>
        seeds.map((seed) => judgeTrend(fitTrend(series(slope, { seed, likeBefore })), 0.3))

      expect(risen(judge(1)) / seeds.length).to.be.greaterThan(0.95)
      expect(risen(judge(0))).to.equal(0)
    })
  }

  it('calls noise rising in less than two of a hundred runs without a bound, where a plain standard error does in a fifth', () => {
    const trends = seeds.map((seed) => fitTrend(series(0, { seed, likeBefore: 0.95 })))
    const plain = trends.map((trend) => ({ ...trend, margin: 3 * trend.error * Math.sqrt(trend.independent / 300) }))

    expect(risen(trends.map((trend) => judgeTrend(trend, 0)))).to.be.lessThan(8)
    expect(risen(plain.map((trend) => judgeTrend(trend, 0)))).to.be.greaterThan(40)
  })

  it('tells a straight line, a level one, and what too few or too similar samples cannot tell', () => {
    const line = (slope: number): Point[] => series(slope, { seed: 1, size: 0 })
    const fillsUp = line(0).map(([x]): Point => [x, 100 - 50 * Math.exp(-x)])
    const verdict = (points: readonly Point[]) => judgeTrend(fitTrend(points), 0.1)

    expect(fitTrend(line(1)).slope).to.be.closeTo(1, 1e-9)
    expect([line(1), line(0), line(-1)].map(verdict)).to.deep.equal(['rises', 'flat', 'flat'])
    expect([fillsUp, line(1).slice(0, 5), []].map(verdict)).to.deep.equal(['undecided', 'undecided', 'undecided'])
  })
})
