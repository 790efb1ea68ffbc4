import { Unavailable } from '@gatehouse/runtime'
import { ConfigurationError } from './config/configuration.ts'
import { serveHealthWhileWaiting } from './health/waiting.ts'
import { createLog } from './log/log.ts'
import { repeatedSignalMs, stopLimitMs } from './policy.ts'
import { openResources, type Opened, type ResourceOptions } from './resources/open-resources.ts'

type Environment = Readonly<Record<string, string | undefined>>

type Program<C, O extends ResourceOptions> = {
  /** Of the process, for logs and connections. */
  name: string
  /** Throws ConfigurationError with every fault. */
  readConfig(environment: Environment): { config: C; resources: O }
  start(config: C, resources: Opened<O>): Promise<AsyncDisposable & { url: string }>
}

/**
 * The main program of a distributed service: reads its environment, opens its resources, runs until a signal. While
 * PostgreSQL is away it waits, alive and not ready. Contract: 8.
 */
export async function runService<C extends { host: string; port: number }, O extends ResourceOptions>(
  program: Program<C, O>,
): Promise<void> {
  await runUntilStopped(program.name, async (stopRequested) => {
    const { config, resources: options } = program.readConfig(process.env)
    await using opening = new AsyncDisposableStack()
    const whileWaiting = () => serveHealthWhileWaiting(config)
    const resources = opening.use(await openResources(program.name, options, { stopRequested, whileWaiting }))
    const service = opening.use(await program.start(config, resources))
    resources.log.info({ url: service.url }, 'listening')
    opening.defer(() => resources.log.info('stopping: what was accepted is answered; a second signal ends at once'))
    return opening.move()
  })
}

/**
 * Runs one process: starts it, waits for SIGTERM or SIGINT, closes it. A start that fails is reported, one line for each
 * fault of the configuration, and exits with 1. A second signal exits at once. Contract: 8.
 */
export async function runUntilStopped(
  name: string,
  start: (stopRequested: AbortSignal) => Promise<AsyncDisposable>,
): Promise<void> {
  const stopRequested = followSignals()
  const stopped = new Promise<void>((resolve) => {
    stopRequested.addEventListener('abort', () => resolve(), { once: true })
  })
  try {
    const running = await start(stopRequested)
    await stopped
    setTimeout(() => process.exit(1), stopLimitMs).unref()
    await running[Symbol.asyncDispose]()
    process.exit(0)
  } catch (error) {
    if (error === stopRequested.reason) process.exit(0)
    reportStartError(name, error)
    process.exit(1)
  }
}

/** Aborted by the first signal; the second exits at once. npm repeats a Ctrl-C that the terminal has sent to all processes. */
function followSignals(): AbortSignal {
  const stop = new AbortController()
  let requestedAt = 0
  const numbers = { SIGINT: 2, SIGTERM: 15 }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (!stop.signal.aborted) requestedAt = performance.now()
      else if (performance.now() - requestedAt > repeatedSignalMs) process.exit(128 + numbers[signal])
      stop.abort()
    })
  }
  return stop.signal
}

/**
 * Lines of the log, or plain ones on a terminal. Of a fault that an operator can remove the message is enough; a stack
 * would hide it.
 */
export function reportStartError(name: string, error: unknown): void {
  const isOperational = error instanceof ConfigurationError || error instanceof Unavailable
  const lines = isOperational ? error.message.split('\n') : []
  if (process.stderr.isTTY) {
    const text = isOperational ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error)
    process.stderr.write(`${text}\n`)
    return
  }
  const log = createLog({ level: 'fatal', service: name, destination: process.stderr })
  for (const line of lines) log.fatal(line)
  if (!isOperational) log.fatal({ err: error }, 'start failed')
}
