import { expect } from 'chai'
import { exploreAll, exploreRandomly, replay } from './simulation/explore.ts'
import { mutants } from './simulation/mutants.ts'
import { layouts, measure } from './simulation/regions.ts'
import { findInSmall, formatFailure } from './simulation/report.ts'
import { anything, smallScenarios, twoPrimaries } from './simulation/scenarios.ts'

/** What is feared, with the real code between simulated servers. `npm run test:simulation` searches further. */
describe('the cache of account states, in every order of what can happen, up to a bound', () => {
  /** Design: invariant 1. */
  it('accepts nothing old after the answer, and answers everybody', async () => {
    const { finding, explored } = await findInSmall(undefined, [250])

    expect(finding && formatFailure(finding.scenario, undefined, finding.failure)).to.equal(undefined)
    const complete = [...explored].filter(([, { isComplete }]) => isComplete).map(([name]) => name)
    expect(complete).to.include.members(['cached', 'not cached', 'another Redis'])
  })

  it('accepts nothing old in random orders with many faults', async () => {
    const { failure } = await exploreRandomly({ scenario: anything }, 1, (schedules) => schedules === 60)

    expect(failure && formatFailure(anything.name, undefined, failure)).to.equal(undefined)
  })

  for (const [name, mutant] of Object.entries(mutants)) {
    it(`is seen to fail with a planted fault: ${name}`, async () => {
      const { finding } = await findInSmall(mutant, [50, 500])

      expect(finding?.failure.what).to.match(/was answered: live$/)
      const scenario = smallScenarios.find((one) => one.name === finding!.scenario)!
      const again = await replay({ scenario, mutant }, finding!.failure.schedule)
      expect(again.failure?.steps).to.deep.equal(finding!.failure.steps)
    })
  }

  it('is seen to fail where each region has a Redis of its own that takes writes', async () => {
    const { failure } = await exploreAll({ scenario: twoPrimaries }, (schedules) => schedules >= 500)

    expect(failure?.what).to.equal('G1 judged by v1 after v2 was answered: live')
  })

  it('costs a change of a password over regions what docs/explain/performance-and-scaling.md says', async () => {
    const costs = await Promise.all(layouts.map(measure))

    expect(costs.map(({ changeMs, coldMs, warmMs }) => [changeMs, coldMs, warmMs].map(Math.round))).to.deep.equal([
      [1, 3, 1],
      [1, 401, 100],
      [200, 401, 100],
      [101, 102, 1],
    ])
  })
})
