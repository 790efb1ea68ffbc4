import { once } from 'node:events'
import { Unavailable } from '@gatehouse/runtime'
import { ConfigurationError } from './config/configuration.ts'
import { createLog } from './log/log.ts'
import { repeatedSignalMs, stopLimitMs } from './policy.ts'

/** Reports a failed start and exits with 1. A second signal exits at once. Contract: 8, drain. */
export async function runUntilStopped(
  name: string,
  start: (stopRequested: AbortSignal) => Promise<AsyncDisposable>,
): Promise<void> {
  // An output error without a listener would end the process.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined)
  const stopRequested = followSignals()
  const stopped = once(stopRequested, 'abort')
  let isStarted = false
  try {
    const running = await start(stopRequested)
    isStarted = true
    await stopped
    setTimeout(() => process.exit(1), stopLimitMs).unref()
    await running[Symbol.asyncDispose]()
    process.exit(0)
  } catch (error) {
    if (error === stopRequested.reason) process.exit(0)
    reportStartError(name, error, isStarted ? 'stop failed' : undefined)
    process.exit(1)
  }
}

/** npm repeats a Ctrl-C. */
function followSignals(): AbortSignal {
  const stop = new AbortController()
  let requestedAt = 0
  for (const [signal, number] of Object.entries({ SIGINT: 2, SIGTERM: 15 })) {
    process.on(signal, () => {
      if (!stop.signal.aborted) requestedAt = performance.now()
      else if (performance.now() - requestedAt > repeatedSignalMs) process.exit(128 + number)
      stop.abort()
    })
  }
  return stop.signal
}

/** Configuration faults are reported without a stack. */
export function reportStartError(name: string, error: unknown, message = 'start failed'): void {
  const isOperational = error instanceof ConfigurationError || error instanceof Unavailable
  if (process.stderr.isTTY) {
    const text = isOperational ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error)
    return void process.stderr.write(`${text}\n`)
  }
  const log = createLog({ level: 'fatal', service: name, destination: process.stderr })
  if (!isOperational) return log.fatal({ err: error }, message)
  for (const line of error.message.split('\n')) log.fatal(line)
}
