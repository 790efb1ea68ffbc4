import { setTimeout as pause } from 'node:timers/promises'
import { backoffMs } from '@gatehouse/runtime'
import { BusUnavailable } from '../bus-unavailable.ts'
import type { BusLog } from '../bus.ts'
import { recreateAfterLossMs, recreateBackoff } from '../policy.ts'
import type { Connection } from './connection.ts'

export type Recreated = { stop(): void }

export type Creation = {
  isCurrent(): boolean
  /** At once, or a moment after a loss on the server. */
  recreate(): void
  recreateAfterLoss(): void
}

/** Retries until `create` succeeds. Throws only when the server refuses the first creation. Contract: 8. */
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

/** A server without JetStream has no responder. */
function isRefused(error: unknown): boolean {
  return !(error instanceof BusUnavailable) || error.reason === 'no-responders'
}
