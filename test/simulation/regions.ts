import { createWorld, earliest, settle, type Scenario } from './world.ts'

const near = { within: 0.25, between: 50 }
const base = {
  reads: { G: 3 },
  changes: { I: 2 },
  isBusSilent: true,
  faults: [],
  maxFaults: 0,
  maxDelays: 1_000,
  hopMs: near,
} satisfies Omit<Scenario, 'name'>

/** `home` has the database that takes writes, and Redis. 100 ms there and back. */
export const layouts: Scenario[] = [
  { ...base, name: 'all in one region', regions: {} },
  { ...base, name: 'the gateway away', regions: { G: 'away' } },
  { ...base, name: 'the gateway and identity away', regions: { G: 'away', I: 'away' } },
  { ...base, name: 'the gateway, identity and Redis away', regions: { G: 'away', I: 'away', redis: 'away' } },
]

export type Costs = { name: string; changeMs: number; coldMs: number; warmMs: number }

/** Nothing is late: each hop takes its time. */
export async function measure(scenario: Scenario): Promise<Costs> {
  const world = await createWorld(scenario)
  const perform = async (label: string) => {
    world
      .actions()
      .find((action) => action.label.endsWith(label))!
      .run()
    for (await settle(); world.unanswered().length > 0; await settle()) {
      earliest(world.actions().filter(({ kind }) => kind !== 'request')).run()
    }
  }
  await perform('judges a request')
  await perform('judges a request')
  await perform('changes the password')
  const [coldMs = 0, warmMs = 0] = world.gateways[0]!.judgedMs
  return { name: scenario.name, coldMs, warmMs, changeMs: world.identities[0]!.answeredMs[0]! }
}

export async function describeRegions(): Promise<string> {
  const costs = await Promise.all(layouts.map(measure))
  const rows = costs.map(({ name, changeMs, coldMs, warmMs }) => `| ${name} | ${changeMs} | ${coldMs} | ${warmMs} |`)
  return ['| | change of a password | first request | further requests |', '|---|---|---|---|', ...rows].join('\n')
}
