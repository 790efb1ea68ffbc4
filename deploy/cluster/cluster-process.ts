import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isRunning, killTree, listTree, signalTree, unwatchProcess, watchProcess } from '@gatehouse/local-servers'
import { viewLog, type LogView } from './log-view.ts'
import { mains, portsOf, type Place, type Role } from './places.ts'

/** One real process of a cluster. */
export type ClusterProcess = {
  service: Role
  index: number
  url: string
  /** Where `/healthz`, `/readyz` and `/metrics` answer. */
  opsUrl: string
  readonly pid: number
  /** SIGKILL to it and everything below it. */
  kill(): Promise<void>
  /** SIGTERM; resolves when it has drained and ended. */
  stop(): Promise<void>
  /** Runs it again on the same port, and waits until it is ready. */
  start(): Promise<void>
  /** Freezes it, and what it runs, with SIGSTOP. */
  pause(): void
  resume(): void
  /** The last lines it wrote. */
  recentLog(): string
}

type Options = { place: Place; order: number; environment: Record<string, string>; log: LogView; logFile: string }

const projectRoot = resolve(import.meta.dirname, '../..')
const READY_WITHIN_MS = 120_000
const STOP_WITHIN_MS = 40_000

/** Runs one process and waits until it is ready. Rejects with its last lines when it does not become so. */
export async function startProcess(options: Options): Promise<ClusterProcess> {
  const { place } = options
  const view = viewLog({ name: place.name, index: options.order, file: options.logFile, view: options.log })
  const url = `http://127.0.0.1:${place.port}`
  const opsUrl = `http://127.0.0.1:${place.opsPort}`
  let child = await run()

  async function run(): Promise<ChildProcess> {
    const started = spawnMain(options)
    view.follow(started.stdout!, started.stderr!)
    await once(started, 'spawn')
    const pid = started.pid!
    watchProcess(pid, 'SIGKILL')
    started.once('exit', () => unwatchProcess(pid))
    await waitUntilReady(started, opsUrl).catch(async (cause: unknown) => {
      await killTree(pid)
      throw new Error(`${place.name} did not become ready:\n${view.recent()}`, { cause })
    })
    return started
  }

  return {
    service: place.role,
    index: place.index,
    url,
    opsUrl,
    get pid() {
      return child.pid!
    },
    async kill() {
      if (hasEnded(child)) return
      await killTree(child.pid!)
      await ended(child)
    },
    async stop() {
      if (hasEnded(child)) return
      signalTree(child.pid!, 'SIGCONT')
      const members = listTree(child.pid!)
      child.kill('SIGTERM')
      await ended(child)
      while (members.some(isRunning)) await pause(5)
    },
    async start() {
      if (hasEnded(child)) child = await run()
    },
    pause: () => signalTree(child.pid!, 'SIGSTOP'),
    resume: () => signalTree(child.pid!, 'SIGCONT'),
    recentLog: () => view.recent(),
  }
}

function spawnMain({ place, environment }: Options): ChildProcess {
  const { PATH = '', HOME = '' } = process.env
  const { file, flags = [] } = mains[place.role]
  return spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...flags, resolve(projectRoot, file)], {
    cwd: projectRoot,
    env: { PATH, HOME, ...environment, ...portsOf(place) },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // a Ctrl-C on the terminal is for the cluster, which stops its processes in order
  })
}

async function waitUntilReady(child: ChildProcess, opsUrl: string): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS
  while (performance.now() < deadline) {
    if (hasEnded(child)) throw new Error(`it ended with ${child.signalCode ?? `exit code ${child.exitCode}`}`)
    const isReady = await fetch(`${opsUrl}/readyz`).then(
      async (response) => (await response.text(), response.ok),
      () => false,
    )
    if (isReady) return
    await pause(25)
  }
  throw new Error(`not ready within ${READY_WITHIN_MS} ms`)
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

async function ended(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  const lastResort = setTimeout(() => void killTree(child.pid!), STOP_WITHIN_MS)
  await once(child, 'exit')
  clearTimeout(lastResort)
}
