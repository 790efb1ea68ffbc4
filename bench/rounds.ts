/** How a run was asked for on the command line. */
export type Run = {
  /** How many rounds a benchmark measures: as many as it usually does, unless the command line names a number. */
  rounds: (usual: number) => number
}

/**
 * Measures each contender once a round, in turn and in alternating order, so that whatever else the machine does meets all
 * of them. A round before the first warms up and is not counted. Gives the values of each contender, one for a round.
 */
export async function measureInRounds<Name extends string, Value>(
  rounds: number,
  contenders: Record<Name, (round: number) => Promise<Value>>,
): Promise<Record<Name, Value[]>> {
  const names = Object.keys(contenders) as Name[]
  const values = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Value[]>
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const value = await contenders[name](round)
      if (round > 0) values[name].push(value)
    }
  }
  return values
}

/** Of an even number of values the upper one of the two in the middle. Throws when there is no value. */
export function median(values: readonly number[]): number {
  return at(values, Math.floor(values.length / 2))
}

/** The value below which that share of the values lies. Throws when there is no value. */
export function percentile(values: readonly number[], share: number): number {
  return at(values, Math.max(0, Math.ceil(values.length * share) - 1))
}

/** How long it took, in milliseconds. */
export async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

function at(values: readonly number[], place: number): number {
  const value = values.toSorted((one, other) => one - other)[place]
  if (value === undefined) throw new Error('nothing was measured')
  return value
}
