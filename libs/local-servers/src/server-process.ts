import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { closeSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import getPort, { portNumbers } from 'get-port'
import { requireProgram, type programs } from './find-program.js'
import { readIfExists } from './folder-lock.ts'
import { ManagedProcess, type ProcessOptions } from './managed-process.ts'
import { createScratchFolder, removeFolder } from './watchdog.ts'

export type Command = { file: string; args: string[]; uid?: number; gid?: number; env?: NodeJS.ProcessEnv }

type ServerProgram = Pick<
  ProcessOptions,
  'name' | 'prepare' | 'onSpawned' | 'onEnded' | 'stopSignal' | 'discardSignal' | 'restarts'
> & {
  folder: string
  command: (port: number) => Command
  url: (port: number) => string
  isReady: (port: number) => Promise<boolean>
  /** Another one where this is taken. */
  port?: number | undefined
  /** Released when it has ended for good. */
  resources: AsyncDisposableStack
}

// Outgoing connections use higher ports (Linux: 32768 and above), which a restart may then find taken.
const lowestPort = 20_000
const highestPort = 32_000

const readyLimitMs = 30_000
const stopLimitMs = 10_000
const retryDelayMs = 500
/** As long as the last server of a folder may take to stop. */
const maxStartAttempts = stopLimitMs / retryDelayMs
const portTaken = /address already in use/i
/** A port taken since the search, or data of the last server. */
const transientFault = /address already in use|lock file .* already exists|shared memory block .* is still in use/i

export class LocalServer extends ManagedProcess {
  readonly url: string
  readonly port: number
  readonly #resources: AsyncDisposableStack

  constructor(program: ServerProgram, port: number) {
    const { name, folder, command, isReady, resources, url, ...lifecycle } = program
    const logFile = join(folder, 'server.log')
    rmSync(logFile, { force: true })
    super({
      ...lifecycle,
      name: `${name} on port ${port}`,
      readyLimitMs,
      stopLimitMs,
      isReady: () => isReady(port),
      lastLines: () => (readIfExists(logFile) ?? '').trim().split('\n').slice(-10).join('\n'),
      spawn() {
        const { file, args, ...user } = command(port)
        const log = openSync(logFile, 'a')
        const child = spawn(file, args, { ...user, cwd: folder, detached: true, stdio: ['ignore', log, log] })
        closeSync(log)
        return child
      },
    })
    this.url = url(port)
    this.port = port
    this.#resources = resources
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]()
    await this.#resources.disposeAsync()
  }
}

/** Waits until it is ready. Throws with the end of its log. */
export async function startServer(program: ServerProgram): Promise<LocalServer> {
  let port = program.port ?? (await freePort())
  for (let attempt = 1; ; attempt += 1) {
    const server = new LocalServer(program, port)
    try {
      await server.start()
      return server
    } catch (error) {
      const isLast = !transientFault.test(String(error)) || attempt === maxStartAttempts
      if (isLast) await server[Symbol.asyncDispose]()
      if (isLast) throw error
      if (portTaken.test(String(error))) port = await freePort()
      await pause(retryDelayMs)
    }
  }
}

type ConfiguredServer = Pick<ServerProgram, 'url' | 'isReady' | 'port'> & {
  program: keyof typeof programs
  /** Without it the server has one of its own, which goes with it. */
  folder?: string
  /** The content of `configFile`. */
  config: (port: number, folder: string) => string
  args: (port: number, folder: string, configFile: string) => string[]
  /** Beside the variables of this process. */
  env?: (folder: string) => Record<string, string>
}

/** A program of the system, whose configuration is written at each start. */
export async function startConfiguredServer(server: ConfiguredServer): Promise<LocalServer> {
  const { program: name, folder: ownFolder, config, args, env, url, isReady, port } = server
  const file = requireProgram(name)
  await using opening = new AsyncDisposableStack()
  const folder = ownFolder ?? opening.adopt(await createScratchFolder(name), removeFolder)
  mkdirSync(folder, { recursive: true })
  const configFile = join(folder, 'server.conf')
  const command = (port: number) => {
    writeFileSync(configFile, config(port, folder))
    return { file, args: args(port, folder, configFile), env: { ...process.env, ...env?.(folder) } }
  }
  const signals = { stopSignal: 'SIGTERM', discardSignal: ownFolder === undefined ? 'SIGKILL' : 'SIGTERM' } as const
  return await startServer({ name, folder, command, url, isReady, port, ...signals, resources: opening.move() })
}

/** `preferred` where it is free, else a random one. On Linux it is given to nobody again until this process ends. */
export async function freePort(preferred?: number): Promise<number> {
  const first = randomInt(lowestPort, highestPort)
  const random = [...portNumbers(first, highestPort), ...portNumbers(lowestPort, first)]
  for (;;) {
    // `getPort` passes over a port that it has given, so the loop ends.
    const port = await getPort({ host: '127.0.0.1', port: preferred ? [preferred, ...random] : random })
    if (await reserve(port)) return port
  }
}

/** The name is freed with the process. Gives true too where the system has no abstract names. */
function reserve(port: number): Promise<boolean> {
  const server = createServer((socket) => socket.destroy()).unref()
  return new Promise((resolve) => {
    server.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'EADDRINUSE'))
    server.listen(`\0gatehouse-port-${port}`, () => resolve(true))
  })
}

/** Empty without an answer within a second. */
export function readFirstBytes(port: number, request = ''): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request, 'latin1'))
    const finish = (bytes: string) => {
      socket.destroy()
      resolve(bytes)
    }
    socket.setTimeout(1_000, () => finish(''))
    for (const end of ['error', 'end']) socket.once(end, () => finish(''))
    socket.once('data', (data) => finish(data.toString('latin1')))
  })
}
