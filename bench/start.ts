import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort, listTree, unwatchProcess, watchProcess } from '@gatehouse/local-servers'
import type { Line } from './report.ts'

const projectRoot = resolve(import.meta.dirname, '..')
const STARTS = 5
const STOP_LIMIT_S = 3
const START_LIMIT_S = 3
const FOOTPRINT_LIMIT_MB = 350

type Sample = { startS: number; stopS: number; bareS: number; rssMb: number; pssMb: number }

/** `npm start` on a data folder that is there: time to the first 200, what all its processes take, time to stop. */
export async function benchmark(): Promise<Line[]> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-start-'))
  // PostgreSQL, which does not run as root, has to enter it.
  await chmod(folder, 0o711)
  try {
    await measure(folder) // makes the data folder
    const samples: Sample[] = []
    for (let start = 0; start < STARTS; start += 1) samples.push(await measure(folder))
    return report(samples)
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  }
}

async function measure(folder: string): Promise<Sample> {
  const bareS = await timeBareNode()
  const port = await freePort()
  const startedAt = performance.now()
  const child = run(['deploy/embedded/main.ts'], { GATEHOUSE_DATA: folder, PORT: String(port), LOG_LEVEL: 'warn' })
  await firstAnswer(`http://127.0.0.1:${port}/api/health`, child)
  const startS = (performance.now() - startedAt) / 1000
  const { rssMb, pssMb } = await footprint(child.pid!)
  const stoppedAt = performance.now()
  child.kill('SIGINT')
  await once(child, 'exit')
  return { startS, bareS, rssMb, pssMb, stopS: (performance.now() - stoppedAt) / 1000 }
}

/** What the runtime alone takes to start, on the machine as it is now. */
async function timeBareNode(): Promise<number> {
  const startedAt = performance.now()
  await once(run(['--eval', '0'], {}), 'exit')
  return (performance.now() - startedAt) / 1000
}

function run(args: string[], environment: Record<string, string>): ChildProcess {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    cwd: projectRoot,
    env: { PATH, HOME, NODE_COMPILE_CACHE: join(tmpdir(), 'gatehouse-bench-compiled'), ...environment },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  watchProcess(child.pid!, 'SIGTERM')
  child.once('exit', () => unwatchProcess(child.pid!))
  return child
}

async function firstAnswer(url: string, child: ChildProcess): Promise<void> {
  while (child.exitCode === null) {
    const ok = await fetch(url).then(
      async (response) => (await response.text(), response.ok),
      () => false,
    )
    if (ok) return
    await pause(5)
  }
  throw new Error('npm start ended before it answered')
}

/** Of the process and everything below it. Pages that several share count once in PSS, and for each of them in RSS. */
async function footprint(pid: number): Promise<{ rssMb: number; pssMb: number }> {
  const sums = await Promise.all(
    listTree(pid).map(async (member) => {
      const rollup = await readFile(`/proc/${member}/smaps_rollup`, 'utf8').catch(() => '')
      const kilobytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(rollup)?.[1] ?? 0)
      return { rss: kilobytes('Rss'), pss: kilobytes('Pss') }
    }),
  )
  const total = (name: 'rss' | 'pss'): number => sums.reduce((sum, one) => sum + one[name], 0) / 1024
  return { rssMb: total('rss'), pssMb: total('pss') }
}

function report(samples: readonly Sample[]): Line[] {
  const median = (name: keyof Sample): number => {
    return samples.map((sample) => sample[name]).sort((a, b) => a - b)[Math.floor(samples.length / 2)]!
  }
  const bare = `bare node ${median('bareS').toFixed(2)} s`
  const absolute = (what: string, measured: string, limit: string, within: boolean): Line => {
    return { what, measured, peer: bare, ratio: null, limit, within }
  }
  const [startS, stopS, pssMb, rssMb] = [median('startS'), median('stopS'), median('pssMb'), median('rssMb')]
  return [
    absolute('npm start to the first 200', `${startS.toFixed(2)} s`, `≤ ${START_LIMIT_S} s`, startS <= START_LIMIT_S),
    absolute('Ctrl-C to the end', `${stopS.toFixed(2)} s`, `≤ ${STOP_LIMIT_S} s`, stopS <= STOP_LIMIT_S),
    absolute(
      'footprint of all its processes',
      `${pssMb.toFixed(0)} MB (RSS summed ${rssMb.toFixed(0)} MB)`,
      `≤ ${FOOTPRINT_LIMIT_MB} MB`,
      pssMb > 0 && pssMb <= FOOTPRINT_LIMIT_MB,
    ),
  ]
}
