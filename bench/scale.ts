import { availableParallelism } from 'node:os'
import { createDataFolder } from './embedded-instance.ts'
import { absoluteLine, ratioLine, type Line } from './report.ts'
import type { Run } from './rounds.ts'
import { measureBareRestore, measureCommands, readPeak } from './scale/commands.ts'
import { formatCount as count, measureGrowth } from './scale/growth.ts'
import { openPlace } from './scale/operations.ts'

/** A smaller one for a first look: `SCALE_ACCOUNTS=100000 npm run bench -- scale`. */
const many = Number(process.env.SCALE_ACCOUNTS ?? 1_000_000)
const few = many / 100

/** At most, in milliseconds, however large the instance is. Design: budgets. */
const limits: Readonly<Record<string, number>> = {
  "an admin's list": 20,
  "an admin's page of another home": 20,
  "an admin's search": 20,
  "a peer's sync page": 50,
}

/** The most memory that a command may use, in MiB; 2,048 where it is not named. */
const memoryLimits: Readonly<Record<string, number>> = { import: 256 }

/** What grows with the accounts of an instance, and what must not. Design: invariant 13. */
export async function benchmark(run: Run): Promise<Line[]> {
  await using folders = new AsyncDisposableStack()
  const [smallFolder, largeFolder] = [folders.use(await createDataFolder()), folders.use(await createDataFolder())]
  const lines: Line[] = []
  {
    await using small = await openPlace(smallFolder.path, few)
    await using large = await openPlace(largeFolder.path, many)
    const size = `${count(large.accounts)} accounts`
    const sized = ({ accounts, operations }: typeof large) => ({ count: accounts, operations })
    const growth = { large: sized(large), small: sized(small), unit: 'accounts', limits, rounds: run.rounds(10) }
    lines.push(...(await measureGrowth(growth)))
    const peaks = { values: [await readPeak(large.pid)], peer: megabytes(await readPeak(small.pid)) }
    const what = `peak memory of the instance's process at ${size}`
    lines.push(absoluteLine({ what, ...peaks, format: megabytes, bound: { atMost: 400 * 2 ** 20 } }))
    lines.push({
      what: `size of its database`,
      measured: megabytes(large.databaseBytes),
      ratio: null,
      within: true,
      peer: `at ${count(few)} ${megabytes(small.databaseBytes)}`,
      limit: 'for information',
    })
  }
  const fast = await measureCommands(smallFolder.path, few)
  const slow = await measureCommands(largeFolder.path, many)
  for (const [index, { name, ms, peakBytes }] of slow.entries()) {
    const peer = { name: `at ${count(few)}`, values: [fast[index]!.ms] }
    const what = `${name} of ${count(many)} accounts on ${availableParallelism()} cores`
    lines.push(ratioLine({ what, ours: [ms], peer, format: seconds, bound: { atMost: many / few } }))
    const memory = { what: `its peak memory`, values: [peakBytes], peer: megabytes(fast[index]!.peakBytes) }
    const bound = { atMost: (memoryLimits[name] ?? 2048) * 2 ** 20 }
    lines.push(absoluteLine({ ...memory, format: megabytes, bound }))
    if (name === 'restore') lines.push(...(await linesOfRestore(what, ms)))
  }
  return lines
}

async function linesOfRestore(what: string, ms: number): Promise<Line[]> {
  const peer = { name: 'COPY, indexes and references by PostgreSQL alone', values: [await measureBareRestore(many)] }
  return [
    ratioLine({ what, ours: [ms], peer, format: seconds, bound: null }),
    absoluteLine({ what, values: [ms], peer: '', format: seconds, bound: { atMost: 60_000 } }),
  ]
}

const seconds = (value: number): string => `${(value / 1000).toFixed(1)} s`
const megabytes = (value: number): string => `${(value / 2 ** 20).toFixed(0)} MiB`
