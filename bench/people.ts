import { formatMarkdownTable, type Line } from './report.ts'

/** What one person who is online does in an hour at the busiest time: docs/explain/performance-and-scaling.md names these assumptions. */
const perHour: readonly { operation: string; times: number; said: string }[] = [
  { operation: 'GET @me', times: 60, said: 'one request a minute' },
  { operation: 'login', times: 0.05, said: 'one login per 20 hours online' },
  { operation: 'a socket comes', times: 0.5, said: 'one connection every two hours' },
  { operation: 'a presence change', times: 0.5, said: 'one disconnection as often' },
]
/** Of one number of replicas. */
export const operationsOfFleet = 5
/** Deliveries to one person in an hour: a message every six seconds. */
const deliveriesPerHour = 600
const crowds = [100_000, 10_000_000]
/** Of a core, so that the rest is for peaks. */
const busyShare = 0.5

export function processesOf(lines: readonly Line[]): string[] {
  return [...new Set(lines.flatMap(({ cpu = {} }) => Object.keys(cpu)))]
}

/** Cores of each process for so many people online, from the run with the most replicas. Throws when an operation is missing. */
export function planPeople(lines: readonly Line[]): string {
  const latest = lines.slice(-operationsOfFleet)
  const find = (operation: string): Line => {
    const line = latest.find(({ what }) => what.startsWith(operation))
    if (!line) throw new Error(`nothing was measured for ${operation}`)
    return line
  }
  const delivery = find('a message')
  const receivers = Number(/delivered to (\d+)/.exec(delivery.what)?.[1])
  const names = processesOf(latest)
  const microsOf = (name: string): number =>
    perHour.reduce((sum, { operation, times }) => sum + times * (find(operation).cpu![name] ?? 0), 0) +
    (deliveriesPerHour * (delivery.cpu![name] ?? 0)) / receivers
  const rows = names.map((name) => [
    name,
    (microsOf(name) / 1000).toFixed(1),
    ...crowds.map((people) => ((people * microsOf(name)) / 3_600e6 / busyShare).toFixed(2)),
  ])
  const said = [...perHour.map((each) => each.said), `one message every ${3600 / deliveriesPerHour} s`].join(', ')
  const head = [
    'process',
    'CPU ms per person and hour',
    ...crowds.map((people) => `cores, ${people.toLocaleString('en')} online`),
  ]
  return `Per person at the busiest time: ${said}. Cores are ${busyShare * 100} % busy.\n\n${formatMarkdownTable([head, ...rows])}`
}
