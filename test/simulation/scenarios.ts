import type { FaultKind, Scenario } from './world.ts'

const small = {
  reads: { G1: 1 },
  changes: { I1: 1 },
  isCached: true,
  isBusSilent: true,
  faults: [],
  maxFaults: 0,
  maxDelays: 0,
  retryMs: 6_300,
}
const withFaults = (maxFaults: number, ...faults: FaultKind[]) => ({ faults, maxFaults })
const twoOfEach = { reads: { G1: 2, G2: 1 }, changes: { I1: 1, I2: 1 }, isBusSilent: false }
const allFaults: FaultKind[] = [
  'a connection to Redis breaks',
  'Redis comes back empty',
  'Redis comes back from an old file',
  'Redis is gone',
  'a replica is promoted',
  'identity loses Redis',
  'identity crashes',
  'a question fails',
  'an event comes twice',
]

/** Those that `npm test` explores. Every mutant is found in one of them. */
export const smallScenarios: Scenario[] = [
  { ...small, name: 'cached' },
  { ...small, name: 'not cached', isCached: false, reads: { G1: 2 } },
  { ...small, name: 'cached, late', maxDelays: 1 },
  { ...small, name: 'identity loses Redis', maxDelays: 2, ...withFaults(1, 'identity loses Redis') },
  { ...small, name: 'another Redis', isCached: false, reads: { G1: 2 }, otherRedis: ['I1'] },
  { ...small, name: 'two changes', reads: { G1: 2 }, changes: { I1: 2 }, isBusSilent: false },
  { ...small, name: 'a broken connection', maxDelays: 1, ...withFaults(1, 'a connection to Redis breaks') },
  { ...small, name: 'Redis restarts', ...withFaults(1, 'Redis comes back empty', 'Redis comes back from an old file') },
  { ...small, name: 'a promoted replica', ...withFaults(2, 'a replica is promoted', 'a connection to Redis breaks') },
]

export const largeScenarios: Scenario[] = [
  { ...small, name: 'events', isBusSilent: false, maxDelays: 1, ...withFaults(1, 'an event comes twice') },
  {
    ...small,
    name: 'a dead replica of identity',
    ...twoOfEach,
    ...withFaults(1, 'identity crashes', 'a question fails'),
  },
  { ...small, name: 'without Redis', ...twoOfEach, ...withFaults(1, 'Redis is gone'), maxDelays: 1 },
  { ...small, name: 'two regions of each', ...twoOfEach, isCached: false, maxDelays: 1 },
  { ...small, name: 'any two faults', reads: { G1: 2 }, ...withFaults(2, ...allFaults), maxDelays: 1 },
]

/** What nothing here prevents: the change is written in a Redis that the gateway does not read. docs/explain/performance-and-scaling.md. */
export const twoPrimaries: Scenario = {
  ...small,
  name: 'two that take writes',
  isCached: false,
  reads: { G1: 2 },
  changes: { I1: 0, I2: 1 },
  otherRedis: ['I2'],
}

/** For random schedules. */
export const anything: Scenario = {
  name: 'anything',
  reads: { G1: 5, G2: 5 },
  changes: { I1: 3, I2: 2 },
  isCached: true,
  ...withFaults(5, ...allFaults),
  maxDelays: 8,
  retryMs: 2_000,
}

export const scenarios: readonly Scenario[] = [...smallScenarios, ...largeScenarios, twoPrimaries, anything]
