import { availableParallelism } from 'node:os'
import { createDataFolder } from './embedded-instance.ts'
import { absoluteLine, ratioLine, type Line } from './report.ts'
import { median, type Run } from './rounds.ts'
import { measureCommands, readPeak } from './scale/commands.ts'
import { openPlace, type Place } from './scale/operations.ts'

/** A smaller one for a first look: `SCALE_ACCOUNTS=100000 npm run bench -- scale`. */
const many = Number(process.env.SCALE_ACCOUNTS ?? 1_000_000)
const few = many / 100
const callsOfRound = 5

/** At most, in milliseconds, however large the instance is. Design: budgets. */
const limits: Readonly<Record<string, number>> = {
  ...{
    "an admin's list": 20,
    "an admin's page of another home": 20,
    "an admin's search": 20,
    "a peer's sync page": 50,
  },
}

/** What grows with the accounts of an instance, and what must not. Design: invariant 13. */
export async function benchmark(run: Run): Promise<Line[]> {
  await using folders = new AsyncDisposableStack()
  const [smallFolder, largeFolder] = [folders.use(await createDataFolder()), folders.use(await createDataFolder())]
  const lines: Line[] = []
  {
    await using small = await openPlace(smallFolder.path, few)
    await using large = await openPlace(largeFolder.path, many)
    const size = `${count(large.accounts)} accounts`
    for (const name of Object.keys(large.operations)) {
      const times = await measurePair(large, small, { name, rounds: run.rounds(10) })
      const line = { what: `${name} at ${size}`, format: milliseconds }
      const peer = { name: `at ${count(few)}`, values: times.small }
      const atMost = limits[name.replace(/:.*/, '')]
      lines.push(ratioLine({ ...line, ours: times.large, peer, bound: atMost === undefined ? { atMost: 1.3 } : null }))
      if (atMost !== undefined) lines.push(absoluteLine({ ...line, values: times.large, peer: '', bound: { atMost } }))
    }
    const peaks = { values: [await readPeak(large.pid)], peer: megabytes(await readPeak(small.pid)) }
    const what = `peak memory of the instance's process at ${size}`
    lines.push(absoluteLine({ what, ...peaks, format: megabytes, bound: { atMost: 400 * 2 ** 20 } }))
    lines.push({
      ...{ what: `size of its database`, measured: megabytes(large.databaseBytes), ratio: null, within: true },
      ...{ peer: `at ${count(few)} ${megabytes(small.databaseBytes)}`, limit: 'for information' },
    })
  }
  const fast = await measureCommands(smallFolder.path, few)
  const slow = await measureCommands(largeFolder.path, many)
  for (const [index, { name, ms, peakBytes }] of slow.entries()) {
    const peer = { name: `at ${count(few)}`, values: [fast[index]!.ms] }
    const what = `${name} of ${count(many)} accounts on ${availableParallelism()} cores`
    lines.push(ratioLine({ what, ours: [ms], peer, format: seconds, bound: { atMost: many / few } }))
    const memory = { what: `its peak memory`, values: [peakBytes], peer: megabytes(fast[index]!.peakBytes) }
    lines.push(absoluteLine({ ...memory, format: megabytes, bound: { atMost: 2 * 2 ** 30 } }))
  }
  return lines
}

/** Rounds in turn; a round's value is the median of a few calls, since the first one after the other's turn is cold. */
async function measurePair(large: Place, small: Place, { name, rounds }: { name: string; rounds: number }) {
  const times = { large: [] as number[], small: [] as number[] }
  for (let round = 0; round <= rounds; round += 1) {
    for (const [key, place] of [['large', large] as const, ['small', small] as const]) {
      const calls: number[] = []
      for (let call = 0; call < callsOfRound; call += 1) calls.push(await place.operations[name]!())
      if (round > 0) times[key].push(median(calls))
    }
  }
  return times
}

const count = (value: number): string => value.toLocaleString('en')
const milliseconds = (value: number): string => `${value.toFixed(1)} ms`
const seconds = (value: number): string => `${(value / 1000).toFixed(1)} s`
const megabytes = (value: number): string => `${(value / 2 ** 20).toFixed(0)} MiB`
