import { seededRandom } from '../fuzz/random.ts'
import { checkEnd } from './end-state.ts'
import { createLedger, type Ledger } from './ledger.ts'
import { live } from './life.ts'
import { createMailbox } from './mails.ts'
import { openMeters, type Meters } from './meters.ts'
import { paceOf, type Pace } from './pace.ts'
import { judgeSeries, type Judged, type Sample } from './series.ts'
import { startSystem, type Replicas, type System } from './system.ts'
import { rest, type Scene } from './visitor.ts'

export type SoakRun = {
  seed: number
  hours: number
  warmUpHours: number
  /** Of one core, after the warm-up; of everything and this program. */
  cpuShare: number
  samples: Sample[]
  judged: Judged[]
  ledger: Ledger
}

type Options = {
  hours: number
  seed: number
  replicas: Replicas
  log(line: string): void
  /** Ends the run early, with what it has. */
  stop: AbortSignal
  /** A fault that the run must find: called at each sample, with the hour that the sample has. */
  plant?: (hours: number, system: System, ledger: Ledger) => Promise<void>
}

export const wholeReplicas: Replicas = {
  gateway: 2,
  identity: 2,
  invite: 2,
  'session-gateway': 2,
  'federation-fanout': 2,
  openid: 2,
}
const hourMs = 3_600_000
const least = { samples: 30, departures: 4 }
const longestRuns = 5

/**
 * Has people come, live and leave at a whole instance with a peer, without faults, and measures meanwhile what it holds. Then
 * judges what grows, and what was lost. Design: invariants 1, 2, 13.
 */
export async function runSoak({ hours, seed, replicas, log, stop, plant }: Options): Promise<SoakRun> {
  const pace = paceOf(hours)
  const started = { at: performance.now() }
  const elapsedMs = () => performance.now() - started.at
  const ledger = createLedger(() => `${(elapsedMs() / 1_000).toFixed(0)} s:`)
  await using system = await startSystem({ replicas, ledger })
  await using meters = await openMeters(system)
  started.at = performance.now()
  log(`everything has started: ${system.cluster.processes.length} processes and a peer`)
  const ending = new AbortController()
  const scene: Scene = { system, ledger, random: seededRandom(seed), stop: AbortSignal.any([stop, ending.signal]) }
  const mailbox = createMailbox(system, ledger)
  const counted = { arrived: 0 }
  const sampling = sample({ scene, meters, pace, mailbox, counted, elapsedMs, plant, log }).finally(() =>
    ending.abort(),
  )
  const lives: Promise<unknown>[] = []
  while (!scene.stop.aborted) {
    counted.arrived += 1
    const life = live(scene, { index: counted.arrived, pace, mailbox })
    lives.push(life)
    void life.then(() => void lives.splice(lives.indexOf(life), 1))
    await rest(scene.stop, pace.arrivalMs)
  }
  const { samples, cpuShare } = await sampling
  const ranHours = elapsedMs() / hourMs
  await Promise.all(lives)
  log('nobody comes any more: what was acknowledged is compared')
  await checkEnd(scene, mailbox)
  // Of a run that was stopped early, too.
  const warmUpHours = Math.min(pace.warmUpMs / hourMs, ranHours / 2)
  return { seed, hours: ranHours, warmUpHours, cpuShare, samples, judged: judgeSeries(samples, warmUpHours), ledger }
}

type Sampling = {
  scene: Scene
  meters: Meters
  pace: Pace
  mailbox: { empty(): void }
  counted: { arrived: number }
  elapsedMs(): number
  plant: Options['plant']
  log(line: string): void
}

async function sample({ scene, meters, pace, mailbox, counted, elapsedMs, plant, log }: Sampling) {
  const { stop, ledger, system } = scene
  const samples: Sample[] = []
  let cpu: { at: number; seconds: number } | undefined
  let cpuShare = NaN
  for (let next = pace.sampleMs; ; next += pace.sampleMs) {
    await rest(stop, next - elapsedMs())
    if (stop.aborted || isOver({ scene, pace, samples, ms: elapsedMs() })) return { samples, cpuShare }
    mailbox.empty()
    const hours = elapsedMs() / hourMs
    await plant?.(hours, system, ledger)
    try {
      samples.push({ hours, accounts: counted.arrived, values: await meters.read() })
    } catch (error) {
      ledger.violation(`a measurement failed: ${String(error)}`)
    }
    const now = { at: elapsedMs(), seconds: meters.cpuSeconds() }
    if (!cpu && now.at >= pace.warmUpMs) cpu = now
    else if (cpu) cpuShare = ((now.seconds - cpu.seconds) * 1_000) / (now.at - cpu.at)
    if (samples.length % 10 === 0) log(progressOf({ elapsedMs, counted, ledger, cpuShare }))
  }
}

/** A slow machine has more time for what a short run needs at least. */
function isOver({
  scene,
  pace,
  samples,
  ms,
}: Pick<Sampling, 'scene' | 'pace'> & { samples: Sample[]; ms: number }): boolean {
  const judged = samples.filter(({ hours }) => hours * hourMs >= pace.warmUpMs)
  const isEnough = judged.length >= least.samples && scene.ledger.departed.length >= least.departures
  return ms >= pace.runMs && (isEnough || ms >= longestRuns * pace.runMs)
}

function progressOf({
  elapsedMs,
  counted,
  ledger,
  cpuShare,
}: Pick<Sampling, 'elapsedMs' | 'counted'> & { ledger: Ledger; cpuShare: number }) {
  const share = Number.isNaN(cpuShare) ? 'not yet known' : `${(100 * cpuShare).toFixed(0)} % of a core`
  const minutes = (elapsedMs() / 60_000).toFixed(1)
  return `${minutes} min: ${counted.arrived} came, ${ledger.members.size} are here, ${ledger.violations.length} violations, CPU ${share}`
}
