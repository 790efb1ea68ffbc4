import type { Exploration, Failure } from './explore.ts'
import { anything, largeScenarios, smallScenarios } from './scenarios.ts'
import { exploreAll, exploreRandomly } from './explore.ts'
import { mutants } from './mutants.ts'
import type { Mutant, Scenario } from './world.ts'

/** `<scenario>/<mutant or ->/<choices>`, what `--replay` takes. */
export function formatReplay(scenario: string, mutant: string | undefined, { schedule }: Failure): string {
  return `${scenario}/${mutant ?? '-'}/${schedule.join('.')}`.replaceAll(' ', '_')
}

export function formatFailure(scenario: string, mutant: string | undefined, failure: Failure): string {
  const again = `npm run test:simulation -- --replay ${formatReplay(scenario, mutant, failure)}`
  return [`${scenario}: ${failure.what}`, ...failure.steps.map((step) => `  ${step}`), again].join('\n')
}

export type Finding = { scenario: string; failure: Failure; schedules: number }

/** The first violation in the small scenarios, of each of which so many schedules are explored; then anew with the next bound. */
export async function findInSmall(
  mutant: Mutant | undefined,
  bounds: readonly number[],
): Promise<{ finding?: Finding; explored: Map<string, Exploration> }> {
  const explored = new Map<string, Exploration>()
  for (const bound of bounds) {
    for (const scenario of smallScenarios) {
      const exploration = await exploreAll({ scenario, mutant }, (schedules) => schedules >= bound)
      explored.set(scenario.name, exploration)
      const { failure, schedules } = exploration
      if (failure) return { finding: { scenario: scenario.name, failure, schedules }, explored }
    }
  }
  return { explored }
}

type Options = { now: () => number; log: (line: string) => void; minutes: number; seed: number }

/** True when nothing was found but what was planted. */
export async function runAll({ now, log, minutes, seed }: Options): Promise<boolean> {
  let isGood = true
  const end = (ms: number) => {
    const until = now() + ms
    return () => now() > until
  }
  const fail = (text: string) => {
    isGood = false
    log(text)
  }
  const total = { schedules: 0, steps: 0 }
  const show = ({ name }: Scenario, { schedules, states, steps, isComplete, failure }: Exploration) => {
    total.schedules += schedules
    total.steps += steps
    const extent = isComplete ? 'all' : 'not all'
    log(`${name.padEnd(30)} ${String(schedules).padStart(7)} schedules ${String(states).padStart(7)} states  ${extent}`)
    if (failure) fail(formatFailure(name, undefined, failure))
  }
  const each = (minutes * 60_000) / (smallScenarios.length + largeScenarios.length)
  // What a scenario leaves of its share, the larger ones have.
  let spare = 0
  for (const scenario of [...smallScenarios, ...largeScenarios]) {
    const startedAt = now()
    show(scenario, await exploreAll({ scenario }, end(each + spare)))
    spare = Math.max(0, spare + each - (now() - startedAt))
  }
  const random = await exploreRandomly({ scenario: anything }, seed, end(minutes * 30_000))
  show({ ...anything, name: `random, from seed ${seed}` }, random)
  for (const [name, mutant] of Object.entries(mutants)) {
    const { finding } = await findInSmall(mutant, [50, 500, 5_000])
    const text =
      finding && `found in "${finding.scenario}" after ${finding.schedules} schedules: ${finding.failure.what}`
    if (text) log(`planted: ${name}: ${text}`)
    else fail(`planted: ${name}: not found`)
  }
  log(`${total.schedules} schedules of ${total.steps} steps`)
  return isGood
}
