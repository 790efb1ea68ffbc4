import { createWorld, settle, type Mutant, type Scenario, type World } from './world.ts'
import { startedAt, type Action } from './scheduler.ts'

/** Which of the possible actions was taken at each step. */
export type Schedule = readonly number[]
export type Failure = { what: string; schedule: Schedule; steps: readonly string[] }
export type Exploration = { schedules: number; states: number; steps: number; isComplete: boolean; failure?: Failure }

type Subject = { scenario: Scenario; mutant?: Mutant | undefined }
type Choose = (actions: readonly Action[], world: World) => number | undefined

/** Runs until nothing can happen, a property is violated or `choose` stops. */
export async function runSchedule({ scenario, mutant }: Subject, choose: Choose) {
  const world = await createWorld(scenario, mutant)
  const schedule: number[] = []
  const steps: string[] = []
  const failed = (what: string | undefined) => (what === undefined ? {} : { failure: { what, schedule, steps } })
  for (;;) {
    await settle()
    const what = world.violation()
    if (what !== undefined) return { world, steps, ...failed(what) }
    const actions = world.actions()
    const usual = actions.filter(({ kind }) => kind !== 'fault')
    if (usual.length === 0) break
    const index = choose(actions, world)
    if (index === undefined) return { world, steps }
    const action = actions[index]
    if (!action) throw new Error(`step ${steps.length}: there is no action ${index}; the schedule is of other code`)
    schedule.push(index)
    steps.push(`${world.now() - startedAt} ms  ${action.label}`)
    action.run()
  }
  const [unanswered] = world.unanswered()
  return { world, steps, ...failed(unanswered && `never answered: ${unanswered}`) }
}

/**
 * Over every choice, those schedules first that differ least from the usual order. What follows a state that was seen
 * before is not explored again.
 */
export async function exploreAll(subject: Subject, until: (schedules: number) => boolean): Promise<Exploration> {
  const digests = new Set<string>()
  /** By the number of choices that are not the first. */
  const waiting: Schedule[][] = [[[]]]
  let [schedules, steps] = [0, 0]
  for (let differences = 0; differences < waiting.length; differences += 1) {
    for (let prefix = waiting[differences]?.pop(); prefix; prefix = waiting[differences]?.pop()) {
      if (until(schedules)) return { schedules, states: digests.size, steps, isComplete: false }
      const schedule = prefix
      const choices: number[] = []
      const ran = await runSchedule(subject, (actions, world) => {
        let index = schedule[choices.length]
        if (index === undefined) {
          const digest = world.digest()
          if (digests.has(digest)) return undefined
          digests.add(digest)
          const others = (waiting[differences + 1] ??= [])
          for (let other = 1; other < actions.length; other += 1) others.push([...choices, other])
          index = 0
        }
        choices.push(index)
        return index
      })
      schedules += 1
      steps += ran.steps.length
      if (ran.failure) return { schedules, states: digests.size, steps, isComplete: false, failure: ran.failure }
    }
  }
  return { schedules, states: digests.size, steps, isComplete: true }
}

/** From a seed: the same numbers each time. */
export function seeded(seed: number): (limit: number) => number {
  let state = seed >>> 0
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
  }
}

export async function exploreRandomly(
  subject: Subject,
  seed: number,
  until: (schedules: number) => boolean,
): Promise<Exploration> {
  let [schedules, steps] = [0, 0]
  while (!until(schedules)) {
    const below = seeded(seed + schedules)
    const ran = await runSchedule(subject, (actions) => {
      // Faults and delays are rarer than what they disturb.
      const common = actions.filter(({ kind }) => kind === 'message' || kind === 'request')
      const chosen =
        common.length > 0 && below(10) > 0 ? common[below(common.length)]! : actions[below(actions.length)]!
      return actions.indexOf(chosen)
    })
    schedules += 1
    steps += ran.steps.length
    if (ran.failure) return { schedules, states: 0, steps, isComplete: false, failure: ran.failure }
  }
  return { schedules, states: 0, steps, isComplete: false }
}

export async function replay(subject: Subject, schedule: Schedule) {
  let step = 0
  return await runSchedule(subject, () => schedule[step++])
}
