import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { isRunning, killTree, listTree, signalProcess, signalTree } from './process-tree.ts'
import { unwatchProcess, watchProcess } from './watchdog.ts'

export type ProcessOptions = {
  name: string
  /** Detached: a Ctrl-C is for this process, which ends its children in order. */
  spawn: () => ChildProcess
  prepare?: () => Promise<void>
  onSpawned?: () => void
  /** Rejects where waiting is useless. */
  isReady: () => Promise<boolean>
  readyLimitMs: number
  stopSignal: NodeJS.Signals
  stopLimitMs: number
  discardSignal: NodeJS.Signals
  restarts?: boolean
  /** Nobody asked for it to end. `lastLines`: the end of its log. */
  onEnded?: ((reason: string, lastLines: string) => void) | undefined
  onRestarted?: (pid: number) => void
  /** For the error of a failed start. */
  lastLines: () => string
}

const restartDelayMs = 500

export class ManagedProcess implements AsyncDisposable {
  readonly #options: ProcessOptions
  #child: ChildProcess | undefined
  #isStopRequested = false
  #restarting: Promise<void> | undefined

  constructor(options: ProcessOptions) {
    this.#options = options
  }

  /** Changes with each start. */
  get pid(): number {
    return pidOf(this.#child)
  }

  /** Waits until it is ready. Throws with the end of its log. */
  async start(): Promise<void> {
    this.#isStopRequested = false
    await this.#restarting
    if (hasEnded(this.#child)) await this.#run()
  }

  async stop(): Promise<void> {
    await this.#end(this.#options.stopSignal)
  }

  /** SIGKILL, to descendants too. */
  async kill(): Promise<void> {
    if (hasEnded(this.#child)) return
    await killTree(this.pid)
    await exitOf(this.#child)
  }

  /** SIGSTOP: connections stay open without answers. */
  pause(): void {
    signalTree(this.pid, 'SIGSTOP')
  }

  resume(): void {
    signalTree(this.pid, 'SIGCONT')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end(this.#options.discardSignal)
  }

  async #run(): Promise<void> {
    const { name, prepare, spawn, onSpawned, discardSignal, restarts, lastLines } = this.#options
    await prepare?.()
    const child = spawn()
    child.unref()
    await once(child, 'spawn')
    const pid = pidOf(child)
    watchProcess(pid, discardSignal)
    child.once('exit', () => unwatchProcess(pid))
    onSpawned?.()
    try {
      await this.#waitUntilReady(child)
    } catch (cause) {
      await killTree(pid)
      throw new Error(`${name} did not start: ${(cause as Error).message}\n${lastLines()}`, { cause })
    }
    this.#child = child
    child.once('exit', (code, signal) => {
      if (this.#isStopRequested) return
      this.#options.onEnded?.(signal ?? `exit code ${code}`, lastLines())
      if (restarts) this.#restarting = this.#restart()
    })
  }

  async #restart(): Promise<void> {
    do {
      await pause(restartDelayMs)
      if (this.#isStopRequested) return
      await this.#run().catch(() => undefined)
    } while (hasEnded(this.#child))
    this.#options.onRestarted?.(this.pid)
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    this.#isStopRequested = true
    await this.#restarting
    if (hasEnded(this.#child)) return
    const { pid } = this
    const members = listTree(pid)
    for (const member of members) signalProcess(member, 'SIGCONT')
    signalProcess(pid, signal)
    const limit = setTimeout(() => void killTree(pid), this.#options.stopLimitMs)
    await exitOf(this.#child)
    clearTimeout(limit)
    while (members.some(isRunning)) await pause(5)
  }

  async #waitUntilReady(child: ChildProcess): Promise<void> {
    const { isReady, readyLimitMs } = this.#options
    const deadline = performance.now() + readyLimitMs
    while (!(await isReady())) {
      if (hasEnded(child)) throw new Error(`it ended with ${child.signalCode ?? `exit code ${child.exitCode}`}`)
      if (performance.now() >= deadline) throw new Error(`not ready within ${readyLimitMs} ms`)
      await pause(20)
    }
    // Another process may have taken the port and answered.
    if (hasEnded(child)) throw new Error('address already in use')
  }
}

function pidOf(child: ChildProcess | undefined): number {
  if (child?.pid === undefined) throw new Error('the process was not started')
  return child.pid
}

const hasEnded = (child: ChildProcess | undefined): boolean =>
  !child || child.exitCode !== null || child.signalCode !== null

async function exitOf(child: ChildProcess | undefined): Promise<void> {
  if (child && !hasEnded(child)) await once(child, 'exit')
}
