import { setTimeout as pause } from 'node:timers/promises'
import { backoffMs } from '@gatehouse/runtime'
import { BusUnavailable } from '../bus-unavailable.ts'
import type { BusLog } from '../bus.ts'
import { recreateAfterLossMs, recreateBackoff } from '../policy.ts'
import type { Connection } from './connection.ts'

/** Something that lives on the server and is created again whenever it may have been lost there. */
export type Recreated = { stop(): void }

/** One creation of it. */
export type Creation = {
  /** Whether no newer one has replaced it. */
  isCurrent(): boolean
  /** Asks for a newer one: at once, or after the loss of this one on the server, a moment later. */
  recreate(): void
  recreateAfterLoss(): void
}

/**
 * Creates something on the server now, and again, until it succeeds, after each reconnection and whenever `create` asks for
 * it. Throws when the server refuses the first creation; a connection that is lost meanwhile is no reason to stop a
 * process that starts. Contract: 8.
 */
export async function recreateOnReconnect(
  { connection, log }: { connection: Connection; log: BusLog },
  create: (creation: Creation) => Promise<unknown>,
): Promise<Recreated> {
  let generation = 0
  let stopped = false
  let delayed: NodeJS.Timeout | undefined

  async function recreateUntilDone() {
    if (stopped) return
    clearTimeout(delayed)
    const own = ++generation
    const isCurrent = () => own === generation && connection.isUp()
    for (let failures = 0; isCurrent(); failures += 1) {
      try {
        await connection.whenConnected(() => create({ isCurrent, recreate, recreateAfterLoss }))
        return
      } catch (err) {
        if (isCurrent()) log.warn({ err }, 'NATS consumer or stream not recreated yet')
        await pause(backoffMs(failures, recreateBackoff))
      }
    }
  }

  const recreate = () => void recreateUntilDone()
  const recreateAfterLoss = () => {
    clearTimeout(delayed)
    delayed = setTimeout(recreate, recreateAfterLossMs)
  }
  const unsubscribe = connection.onReconnect(recreate)
  const stop = () => {
    unsubscribe()
    clearTimeout(delayed)
    stopped = true
    generation += 1
  }
  const first = generation
  try {
    await connection.whenConnected(() => create({ isCurrent: () => first === generation, recreate, recreateAfterLoss }))
  } catch (error) {
    if (isRefused(error)) {
      stop()
      throw error
    }
    recreate()
  }
  return { stop }
}

/** Nobody responds where the server has no JetStream. */
function isRefused(error: unknown): boolean {
  return !(error instanceof BusUnavailable) || error.reason === 'no-responders'
}
