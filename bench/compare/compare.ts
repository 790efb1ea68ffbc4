import { formatMarkdownTable, formatTable } from '../report.ts'
import { measureInRounds, median } from '../rounds.ts'
import { openInstance, type ComparedInstance } from './instance.ts'
import { logInAgain, openSockets, readOwnAccount, type LoadRound, type LoadSize } from './loads.ts'
import { readCompareOptions } from './options.ts'

type Sizes = Record<'reads' | 'sockets' | 'logins', LoadSize>

/** For one account and one address: below the limits of the contract, 50 sockets of an account and 15 logins in 2 minutes. */
const usualSizes: Sizes = {
  reads: { lanes: 32, ms: 3_000 },
  sockets: { lanes: 16, ms: 3_000 },
  logins: { lanes: 4, ms: 8_000, most: 12 },
}

type Surroundings = {
  environment?: Readonly<Record<string, string | undefined>>
  print?: (line: string) => void
  sizes?: Sizes
}

/**
 * The same reads, sockets and logins at each instance, in turn, as one table. Gives the exit code: 1 when an argument or an
 * instance stands in the way, which is printed, 130 after Ctrl-C. The accounts that it registered are deleted in any case.
 */
export async function compare(
  args: string[],
  { environment = process.env, print = console.log, sizes = usualSizes }: Surroundings = {},
): Promise<number> {
  const stopping = new AbortController()
  const stop = (): void => stopping.abort()
  process.once('SIGINT', stop).once('SIGTERM', stop)
  try {
    const options = readCompareOptions(args, environment)
    await using opening = new AsyncDisposableStack()
    const instances: ComparedInstance[] = []
    for (const origin of options.origins) instances.push(opening.use(await openInstance(origin, options, print)))
    const loads = await measureAll(instances, { sizes, rounds: options.rounds, signal: stopping.signal })
    if (stopping.signal.aborted) return 130
    const table = tableOf(instances, loads)
    print(`\n${options.isMarkdown ? formatMarkdownTable(table) : formatTable(table)}\n`)
    return 0
  } catch (error) {
    print((error as Error).message)
    return 1
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop)
  }
}

type Loads = Record<keyof Sizes, LoadRound[][]>
type Conditions = { sizes: Sizes; rounds: number; signal: AbortSignal }

/** Of each load the rounds of each instance. */
async function measureAll(instances: readonly ComparedInstance[], conditions: Conditions): Promise<Loads> {
  const { sizes, rounds, signal } = conditions
  type Load = (instance: ComparedInstance, size: LoadSize, signal: AbortSignal) => Promise<LoadRound>
  const inTurn = async (load: Load, size: LoadSize): Promise<LoadRound[][]> => {
    const contenders = instances.map((instance, place) => [`${place}`, () => load(instance, size, signal)] as const)
    const measured = await measureInRounds(rounds, Object.fromEntries(contenders))
    return instances.map((_, place) => measured[place]!)
  }
  const reads = await inTurn(readOwnAccount, sizes.reads)
  const sockets = await inTurn(openSockets, sizes.sockets)
  const logins: LoadRound[][] = []
  // Once: a few use up what one address may.
  for (const instance of instances) logins.push([await logInAgain(instance, sizes.logins, signal)])
  return { reads, sockets, logins }
}

type Field = 'perSecond' | 'medianMs' | 'p99Ms'

function tableOf(instances: readonly ComparedInstance[], { reads, sockets, logins }: Loads): string[][] {
  const isPair = instances.length === 2
  const row = (what: string, load: readonly LoadRound[][], field: Field): string[] => {
    const cells = load.map((rounds) => cellOf(rounds, field))
    return [what, ...cells, ...(isPair ? [ratioOf(load, field)] : [])]
  }
  const failures = instances.map((_, place) => {
    const all = [reads, sockets, logins].flatMap((load) => load[place]!.flatMap((round) => round.failures))
    return all.length === 0 ? 'none' : [...new Set(all)].slice(0, 4).join(', ')
  })
  return [
    [
      'median (smallest to largest round)',
      ...instances.map(({ origin }) => origin),
      ...(isPair ? ['second / first'] : []),
    ],
    ['name and version', ...instances.map(({ label }) => label), ...(isPair ? [''] : [])],
    row('GET @me, requests a second', reads, 'perSecond'),
    row('GET @me, p50 in ms', reads, 'medianMs'),
    row('GET @me, p99 in ms', reads, 'p99Ms'),
    row('sockets to ready, a second', sockets, 'perSecond'),
    row('sockets to ready, p99 in ms', sockets, 'p99Ms'),
    row('logins, a second', logins, 'perSecond'),
    row('logins, p50 in ms', logins, 'medianMs'),
    ['refused or broken off', ...failures, ...(isPair ? [''] : [])],
  ]
}

function cellOf(rounds: readonly LoadRound[], field: Field): string {
  const values = rounds.map((round) => round[field]).filter((value) => value > 0)
  if (values.length === 0) return 'not measured'
  const format = (value: number): string => (value < 10 ? value.toFixed(2) : value.toFixed(0))
  if (values.length === 1) return format(median(values))
  return `${format(median(values))} (${format(Math.min(...values))} to ${format(Math.max(...values))})`
}

function ratioOf(load: readonly LoadRound[][], field: Field): string {
  const [first, second] = load.map((rounds) => median(rounds.map((round) => round[field])))
  const ratio = second! / first!
  return Number.isFinite(ratio) ? ratio.toFixed(2) : ''
}
