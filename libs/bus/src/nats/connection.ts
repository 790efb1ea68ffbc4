import { withTimeout } from '@gatehouse/runtime'
import { ErrorCode, Events, NatsError } from 'nats'
import type { NatsConnection } from 'nats'
import { BusUnavailable } from '../bus-unavailable.ts'
import type { BusLog } from '../bus.ts'
import { drainMs } from '../policy.ts'

export type Connection = AsyncDisposable & {
  nc: NatsConnection
  isUp(): boolean
  /** Rejects with `BusUnavailable` without a connection or at its loss. */
  whenConnected<T>(work: () => Promise<T>): Promise<T>
  /** Resolves when NATS knows the subscriptions. Without a connection they come with the next one. */
  announceSubscription(): Promise<void>
  onReconnect(listener: () => void): () => void
}

export function createConnection(nc: NatsConnection, log: BusLog): Connection {
  let up = true
  const pending = new Set<(reason: BusUnavailable) => void>()
  const reconnectListeners = new Set<() => void>()

  function markLost() {
    up = false
    for (const reject of pending) reject(new BusUnavailable('disconnected'))
    pending.clear()
  }

  async function followStatus() {
    for await (const { type, data } of nc.status()) {
      if (type === Events.Disconnect) {
        if (up) log.warn({ server: data }, 'NATS connection lost')
        markLost()
      }
      if (type === Events.Reconnect) {
        log.warn({ server: data }, 'NATS connection restored')
        up = true
        for (const listener of reconnectListeners) listener()
      }
      if (type === Events.Error) log.warn({ reason: data }, 'NATS error')
    }
    markLost()
  }

  async function whenConnected<T>(work: () => Promise<T>): Promise<T> {
    if (!up) throw new BusUnavailable('disconnected')
    const lost = Promise.withResolvers<never>()
    pending.add(lost.reject)
    try {
      return await Promise.race([work(), lost.promise])
    } catch (error) {
      throw asUnavailable(error)
    } finally {
      pending.delete(lost.reject)
    }
  }

  async function announceSubscription(): Promise<void> {
    try {
      await whenConnected(() => nc.flush())
    } catch (error) {
      if (!(error instanceof BusUnavailable)) throw error
    }
  }

  void followStatus()
  return {
    nc,
    isUp: () => up,
    whenConnected,
    announceSubscription,
    onReconnect(listener) {
      reconnectListeners.add(listener)
      return () => reconnectListeners.delete(listener)
    },
    async [Symbol.asyncDispose]() {
      const wasUp = up
      markLost()
      const drained = wasUp ? nc.drain() : nc.close()
      await withTimeout(drained, drainMs, () => new Error('NATS did not drain in time')).catch(() => {})
      await nc.close()
    },
  }
}

const reasons: Record<string, BusUnavailable['reason']> = {
  [ErrorCode.NoResponders]: 'no-responders',
  [ErrorCode.Timeout]: 'timeout',
  [ErrorCode.ConnectionClosed]: 'disconnected',
  [ErrorCode.ConnectionDraining]: 'disconnected',
  [ErrorCode.Disconnect]: 'disconnected',
  [ErrorCode.RequestError]: 'disconnected',
}

function asUnavailable(error: unknown): unknown {
  const reason = error instanceof NatsError ? reasons[error.code] : undefined
  return reason ? new BusUnavailable(reason, error) : error
}
