import { absoluteLine, ratioLine, type Line } from '../report.ts'
import { measureInRounds, median } from '../rounds.ts'

/** Each takes milliseconds. */
export type Operations = Record<string, () => Promise<number>>

type Sized = { count: number; operations: Operations }

type Growth = {
  large: Sized
  small: Sized
  /** `accounts` */
  unit: string
  rounds: number
  /** At most, in milliseconds, however large it is, by the name before a colon. The others get a share of the small one's time. */
  limits?: Readonly<Record<string, number>>
}

const callsOfRound = 5

/** A line for each operation: what it takes where much is stored beside little. Design: invariant 13. */
export async function measureGrowth({ large, small, unit, rounds, limits = {} }: Growth): Promise<Line[]> {
  const lines: Line[] = []
  for (const name of Object.keys(large.operations)) {
    const times = await measureInRounds(rounds, { large: callsOf(large, name), small: callsOf(small, name) })
    const line = { what: `${name} at ${formatCount(large.count)} ${unit}`, format: milliseconds }
    const peer = { name: `at ${formatCount(small.count)}`, values: times.small }
    const atMost = limits[name.replace(/:.*/, '')]
    lines.push(ratioLine({ ...line, ours: times.large, peer, bound: atMost === undefined ? { atMost: 1.3 } : null }))
    if (atMost !== undefined) lines.push(absoluteLine({ ...line, values: times.large, peer: '', bound: { atMost } }))
  }
  return lines
}

/** The median of a few, since the first one after the other's turn is cold. */
const callsOf =
  ({ operations }: Sized, name: string) =>
  async () => {
    const calls: number[] = []
    for (let call = 0; call < callsOfRound; call += 1) calls.push(await operations[name]!())
    return median(calls)
  }

export const formatCount = (value: number): string => value.toLocaleString('en')
const milliseconds = (value: number): string => `${value.toFixed(1)} ms`
