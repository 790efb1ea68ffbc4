import { expect } from 'chai'
import { seededRandom } from '../fuzz/random.ts'
import { planFaults } from './plan.ts'

describe('the plan of a long run of faults', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  const faults = names.map((name) => ({ name, inject: async () => undefined }))
  const plan = (seed: number, count: number): string[] => {
    let left = count
    return Array.from(
      planFaults(faults, seededRandom(seed), () => (left -= 1) >= 0),
      ({ name }) => name,
    )
  }

  it('has every fault in each round, in an order that the seed decides, until the time is over', () => {
    const [one, again, other] = [plan(1, 18), plan(1, 18), plan(2, 18)]
    const rounds = [0, 6, 12].map((start) => one.slice(start, start + 6))

    expect(rounds.map((round) => [...round].sort())).to.deep.equal([names, names, names])
    expect(new Set(rounds.map(String)).size).to.be.greaterThan(1)
    expect(again).to.deep.equal(one)
    expect(other).to.not.deep.equal(one)
    expect(plan(1, 4)).to.deep.equal(one.slice(0, 4))
  })
})
