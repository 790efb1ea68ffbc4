import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from './free-port.ts'
import type { PrivateServer } from './private-server.ts'
import { killTree, signalProcess, signalTree } from './process-tree.ts'
import { unwatchProcess, watchProcess } from './watchdog.ts'

/** What to run and how to tell that it serves. */
export type ServerProgram = {
  name: string
  folder: string
  command: (port: number) => { file: string; args: string[]; uid?: number; gid?: number }
  url: (port: number) => string
  /** Rejects when there is no use in waiting. */
  isReady: (port: number) => Promise<boolean>
  stopSignal: NodeJS.Signals
  /** What ends it when it is disposed of, or when this process is gone: quickly where its data are of no further use. */
  discardSignal: NodeJS.Signals
  /** Its folder stays when it is disposed of. */
  isKept?: boolean
  /** Called whenever its process has ended, asked for or not. */
  onEnd?: () => void
}

const READY_WITHIN_MS = 30_000
const STOP_WITHIN_MS = 10_000
const PORT_ATTEMPTS = 3

/** Starts a server on a free port and waits until it serves. Throws with the end of its output when it does not. */
export async function startServer(program: ServerProgram): Promise<PrivateServer> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort()
    try {
      const child = await run(program, port)
      return ownServer(program, port, child)
    } catch (error) {
      // Between the look and the start another process may have taken the port.
      const isPortTaken = /address already in use/i.test(String(error))
      if (isPortTaken && attempt < PORT_ATTEMPTS) continue
      if (!program.isKept) await rm(program.folder, { recursive: true, force: true })
      throw error
    }
  }
}

function ownServer(program: ServerProgram, port: number, started: ChildProcess): PrivateServer {
  let child = started
  const pidOf = (): number => child.pid ?? 0
  async function end(signal: NodeJS.Signals): Promise<void> {
    if (hasEnded(child)) return
    signalTree(pidOf(), 'SIGCONT')
    signalProcess(pidOf(), signal)
    await ended(child)
  }
  return {
    url: program.url(port),
    port,
    get pid() {
      return pidOf()
    },
    stop: () => end(program.stopSignal),
    async kill() {
      if (hasEnded(child)) return
      await killTree(pidOf())
      await ended(child)
    },
    async start() {
      if (hasEnded(child)) child = await run(program, port)
    },
    pause: () => signalTree(pidOf(), 'SIGSTOP'),
    resume: () => signalTree(pidOf(), 'SIGCONT'),
    async [Symbol.asyncDispose]() {
      await end(program.discardSignal)
      if (!program.isKept) await rm(program.folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

async function run(program: ServerProgram, port: number): Promise<ChildProcess> {
  const { file, args, ...identity } = program.command(port)
  const logFile = join(program.folder, 'server.log')
  const output = openSync(logFile, 'a')
  // Detached: a Ctrl-C is for this process, which ends its servers last. The watchdog sees to the rest.
  const options = { ...identity, cwd: program.folder, detached: true }
  const child = spawn(file, args, { ...options, stdio: ['ignore', output, output] })
  closeSync(output)
  child.unref()
  await once(child, 'spawn')
  const pid = child.pid ?? 0
  watchProcess(pid, program.discardSignal)
  child.once('exit', () => {
    unwatchProcess(pid)
    program.onEnd?.()
  })
  try {
    await waitUntilReady(program, port, child)
    return child
  } catch (cause) {
    await killTree(pid)
    const log = readFileSync(logFile, 'utf8').trim().split('\n').slice(-10).join('\n')
    throw new Error(`${program.name} did not start on port ${port}: ${(cause as Error).message}\n${log}`, { cause })
  }
}

async function waitUntilReady(program: ServerProgram, port: number, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS
  while (!(await program.isReady(port))) {
    if (hasEnded(child)) throw new Error('it ended')
    if (performance.now() >= deadline) throw new Error(`not ready after ${READY_WITHIN_MS} ms`)
    await pause(10)
  }
  // Another process may answer on this port while this one just failed to listen there.
  if (hasEnded(child)) throw new Error('address already in use')
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

async function ended(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  const lastResort = setTimeout(() => signalTree(child.pid ?? 0, 'SIGKILL'), STOP_WITHIN_MS)
  child.ref()
  await once(child, 'exit')
  clearTimeout(lastResort)
}
