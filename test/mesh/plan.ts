import type { Random } from '../fuzz/random.ts'
import type { Act } from './acts.ts'

export type PlannedPerson = { name: string; home: string; acts: Act[] }
export type PlannedFault =
  | { kind: 'kill' | 'cut' | 'silence' | 'move' | 'keys'; at: string; lastsMs: number }
  | { kind: 'lose an answer' | 'bad input'; at: string; lastsMs: number; path: string }
  | { kind: 'rotate'; at: string; with: string; lastsMs: number }
export type Round = { people: PlannedPerson[]; faults: PlannedFault[] }

export type Size = { ours: string[]; references: string[]; peopleAtEach: number; actsOfEach: number; faults: number }

const paths = ['relay', 'identity', 'sync', 'epoch', 'users/by-home-id'].map((path) => `/api/federation/${path}`)

/** People with what they do, and faults in their order; the same numbers give the same round. */
export function planRound(random: Random, size: Size, round: number): Round {
  const places = [...size.ours, ...size.references]
  const people = places.flatMap((home) =>
    Array.from({ length: size.peopleAtEach }, (_, index) => ({
      name: `${home}_${round}_${index}`,
      home,
      acts: planActs(random, { home, places, count: size.actsOfEach, isOurs: size.ours.includes(home) }),
    })),
  )
  const faults = Array.from({ length: size.faults }, (_, index) => planFault(random, size, index))
  return { people, faults }
}

type Planning = { home: string; places: string[]; count: number; isOurs: boolean }

function planActs(random: Random, { home, places, count, isOurs }: Planning): Act[] {
  const others = places.filter((place) => place !== home)
  const joined = [random.pick(others), random.pick(others)]
  const acts: Act[] = joined.map((at) => ({ kind: 'connect', at }))
  for (let index = 0; index < count; index += 1) {
    const chance = random.below(10)
    if (chance < 4) acts.push({ kind: 'profile' })
    else if (chance < 6) acts.push({ kind: 'password' })
    else if (chance < 8) acts.push(planRemoval(random, joined))
    else acts.push({ kind: 'connect', at: random.pick(random.chance(0.6) ? joined : others) })
  }
  if (isOurs && random.chance(0.25)) acts.push({ kind: 'close' })
  return acts
}

function planRemoval(random: Random, joined: readonly string[]): Act {
  return { kind: 'remove', at: random.pick(joined), mode: random.pick(['soft', 'full']), durable: random.chance(0.6) }
}

/** The first ones are one of each, so that a short run has them all. */
function planFault(random: Random, { ours, references }: Size, index: number): PlannedFault {
  const all = [...ours, ...references]
  const lastsMs = 300 + random.below(2_500)
  const kinds = ['kill', 'bad input', 'cut', 'rotate', 'lose an answer', 'move', 'kill', 'keys', 'silence'] as const
  const kind = index < kinds.length ? kinds[index]! : random.pick(kinds)
  if (kind === 'move' || kind === 'keys') return { kind, at: random.pick(ours), lastsMs }
  if (kind === 'bad input') return { kind, at: random.pick(ours), path: random.pick(references), lastsMs }
  if (kind === 'lose an answer') return { kind, at: random.pick(all), path: random.pick(paths), lastsMs }
  const at = kind === 'kill' ? random.pick(index === 0 ? ours : all) : random.pick(all)
  if (kind === 'rotate') return { kind, at, with: random.pick(all.filter((one) => one !== at)), lastsMs }
  return { kind, at, lastsMs }
}
