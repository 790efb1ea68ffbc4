import { availableParallelism, cpus, totalmem } from 'node:os'
import { readArguments } from './arguments.ts'
import { formatLines, formatMarkdown, type Benchmark, type Line } from './report.ts'
import type { Run } from './rounds.ts'

/** Name on the command line -> the file that measures it. */
const benchmarks: Record<string, () => Promise<{ benchmark: Benchmark }>> = {
  'whole-path': () => import('./whole-path.ts'),
  login: () => import('./login.ts'),
  'better-auth': () => import('./better-auth.ts'),
  'login-timing': () => import('./login-timing.ts'),
  scale: () => import('./scale.ts'),
  tombstone: () => import('./tombstone.ts'),
  gateway: () => import('./gateway.ts'),
  upstream: () => import('./upstream.ts'),
  sockets: () => import('./sockets.ts'),
  presence: () => import('./presence.ts'),
  live: () => import('./live.ts'),
  crowds: () => import('./crowds.ts'),
  reconnect: () => import('./reconnect.ts'),
  'slow-clients': () => import('./slow-clients.ts'),
  tracing: () => import('./tracing.ts'),
  fanout: () => import('./fanout.ts'),
  start: () => import('./start.ts'),
  paint: () => import('./paint.ts'),
}

const [first, ...rest] = process.argv.slice(2)
if (first === 'compare') {
  const { compare } = await import('./compare/compare.ts')
  process.exit(await compare(rest))
}
const { names, run, isMarkdown } = chooseOrExit()
console.log(describeMachine())
const lines: Line[] = []
for (const name of names) {
  console.log(`\n${name}`)
  const measured = await measure(name, run)
  console.log(formatLines(measured))
  lines.push(...measured)
}
if (isMarkdown) console.log(`\n${describeMachine()}\n\n${formatMarkdown(lines)}`)
const missed = lines.filter((line) => !line.within).length
console.log(`\n${lines.length - missed} within their limits, ${missed} not`)
process.exit(0)

function chooseOrExit() {
  try {
    return readArguments(process.argv.slice(2), Object.keys(benchmarks))
  } catch (error) {
    console.error((error as Error).message)
    process.exit(1)
  }
}

/** One that breaks off is a line too, so that the others still run. */
async function measure(name: string, how: Run): Promise<Line[]> {
  try {
    const { benchmark } = await benchmarks[name]!()
    return await benchmark(how)
  } catch (error) {
    console.error(error)
    const measured = `broke off: ${(error as Error).message}`
    return [{ what: name, measured, peer: '', ratio: null, limit: '', within: false }]
  }
}

function describeMachine(): string {
  const gigabytes = (totalmem() / 2 ** 30).toFixed(0)
  const model = cpus()[0]?.model.trim() ?? 'unknown'
  return `${availableParallelism()} cores (${model}), ${gigabytes} GiB, ${process.platform}, Node ${process.version}`
}
