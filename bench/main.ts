import { formatLines, type Benchmark, type Line } from './report.ts'

/** Name on the command line -> the file that measures it. */
const benchmarks: Record<string, () => Promise<{ benchmark: Benchmark }>> = {
  login: () => import('./login.ts'),
  tombstone: () => import('./tombstone.ts'),
  gateway: () => import('./gateway.ts'),
  sockets: () => import('./sockets.ts'),
  reconnect: () => import('./reconnect.ts'),
  'slow-clients': () => import('./slow-clients.ts'),
  tracing: () => import('./tracing.ts'),
  fanout: () => import('./fanout.ts'),
  start: () => import('./start.ts'),
  paint: () => import('./paint.ts'),
}

const chosen = process.argv.slice(2)
const unknown = chosen.filter((name) => !(name in benchmarks))
if (unknown.length > 0) {
  console.error(`no benchmark called ${unknown.join(', ')}; there are ${Object.keys(benchmarks).join(', ')}`)
  process.exit(1)
}

const lines: Line[] = []
for (const name of chosen.length > 0 ? chosen : Object.keys(benchmarks)) {
  console.log(`\n${name}`)
  const { benchmark } = await benchmarks[name]!()
  const measured = await benchmark()
  console.log(formatLines(measured))
  lines.push(...measured)
}
const missed = lines.filter((line) => !line.within).length
console.log(`\n${lines.length - missed} within their limits, ${missed} not`)
process.exit(0)
