import { ConfigurationError } from './configuration.ts'

/** Faults of the surroundings, which an operator mends: their message is all there is to say. */
const plain = new Set([ConfigurationError.name, 'DatabaseUnavailable', 'StoreUnavailable', 'BusUnavailable'])

/** How long closing may take before the process ends regardless, in milliseconds. */
const stopLimitMs = 25_000

/**
 * Runs one process: starts it, waits for SIGTERM or SIGINT, closes it. A start that fails for want of its surroundings
 * prints one line for each fault and exits with 1. A second signal ends at once.
 */
export async function runUntilStopped(start: () => Promise<AsyncDisposable>): Promise<void> {
  const stopRequested = new Promise<void>((resolve) => {
    process.once('SIGTERM', () => resolve())
    process.once('SIGINT', () => resolve())
  })
  try {
    const running = await start()
    await stopRequested
    process.once('SIGINT', () => process.exit(130))
    setTimeout(() => process.exit(1), stopLimitMs).unref()
    await running[Symbol.asyncDispose]()
    process.exit(0)
  } catch (error) {
    process.stderr.write(`${explain(error)}\n`)
    process.exit(1)
  }
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return plain.has(error.name) ? error.message : (error.stack ?? error.message)
}
