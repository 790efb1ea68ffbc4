import { availableParallelism, cpus, totalmem } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { readArguments } from './arguments.ts'
import { writePages } from './pages.ts'
import { formatLines, formatMarkdown, type Benchmark, type Line } from './report.ts'
import type { Run } from './rounds.ts'

/** Name on the command line -> the file that measures it. */
const benchmarks: Record<string, () => Promise<{ benchmark: Benchmark }>> = {
  'whole-path': () => import('./whole-path.ts'),
  login: () => import('./login.ts'),
  'better-auth': () => import('./better-auth.ts'),
  'login-timing': () => import('./login-timing.ts'),
  scale: () => import('./scale.ts'),
  openid: () => import('./openid.ts'),
  'openid-grants': async () => ({ benchmark: (await import('./openid.ts')).benchmarkGrants }),
  queue: () => import('./queue.ts'),
  callback: () => import('./callback.ts'),
  mail: () => import('./mail.ts'),
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
  'account-states': () => import('./account-states.ts'),
  start: () => import('./start.ts'),
  paint: () => import('./paint.ts'),
  fleet: () => import('./fleet.ts'),
}

/** For each of them. */
const limitMs = 15 * 60_000

const [first, ...rest] = process.argv.slice(2)
if (first === 'compare') {
  const { compare } = await import('./compare/compare.ts')
  process.exit(await compare(rest))
}
// A server that ends late fails its own line.
process.on('unhandledRejection', (error) => console.error(error))
const { names, run, isMarkdown, isWriting } = chooseOrExit()
console.log(describeMachine())
const lines: Line[] = []
const startedAt = performance.now()
for (const name of names) {
  console.log(`\n${name}`)
  const measured = await measure(name, run)
  console.log(formatLines(measured))
  console.log(`${minutesSince(startedAt)} minutes so far`)
  lines.push(...measured)
}
if (isMarkdown) console.log(`\n${describeMachine()}\n\n${formatMarkdown(lines)}`)
if (isWriting) await writeOrTell()
const missed = lines.filter((line) => !line.within).length
console.log(`\n${lines.length - missed} within their limits, ${missed} not`)
process.exit()

function chooseOrExit() {
  try {
    return readArguments(process.argv.slice(2), Object.keys(benchmarks))
  } catch (error) {
    console.error((error as Error).message)
    process.exit(1)
  }
}

/** The results stand above, should a page have lost its markers. */
async function writeOrTell(): Promise<void> {
  try {
    const machine = `${describeMachine()}, in ${minutesSince(startedAt)} minutes`
    await writePages({ lines, machine, day: new Date().toISOString().slice(0, 10) })
  } catch (error) {
    console.error(error)
    process.exitCode = 1
  }
}

/** One that breaks off, or takes too long, is a line too, so that the others still run. */
async function measure(name: string, how: Run): Promise<Line[]> {
  try {
    const { benchmark } = await benchmarks[name]!()
    const late = pause(limitMs, undefined, { ref: false }).then(() =>
      Promise.reject(new Error(`not done in ${limitMs} ms`)),
    )
    return await Promise.race([benchmark(how), late])
  } catch (error) {
    console.error(error)
    const measured = `broke off: ${(error as Error).message}`
    return [{ what: name, measured, peer: '', ratio: null, limit: '', within: false }]
  }
}

function minutesSince(startedAt: number): string {
  return ((performance.now() - startedAt) / 60_000).toFixed(1)
}

function describeMachine(): string {
  const gigabytes = (totalmem() / 2 ** 30).toFixed(0)
  const model = cpus()[0]?.model.trim() ?? 'unknown'
  return `${availableParallelism()} cores (${model}), ${gigabytes} GiB, ${process.platform}, Node ${process.version}`
}
