import { setTimeout as pause } from 'node:timers/promises'
import { ErrorCode, Events, NatsError } from 'nats'
import type { NatsConnection } from 'nats'
import { BusUnavailable } from '../bus-unavailable.ts'
import type { BusLog } from '../bus.ts'

const DRAIN_MS = 5_000

/** A connection that comes back by itself, and tells when it is gone. */
export type Link = AsyncDisposable & {
  nc: NatsConnection
  isUp(): boolean
  /** Does `work` if there is a connection, and rejects with `BusUnavailable` as soon as it is lost. */
  whileUp<T>(work: () => Promise<T>): Promise<T>
  /** Calls `act` whenever the connection has come back. Gives the way to stop that. */
  onReturn(act: () => void): () => void
}

export function createLink(nc: NatsConnection, log: BusLog): Link {
  let up = true
  const waiting = new Set<(reason: BusUnavailable) => void>()
  const returnActs = new Set<() => void>()

  function goDown() {
    up = false
    for (const reject of waiting) reject(new BusUnavailable('disconnected'))
    waiting.clear()
  }

  async function follow() {
    for await (const { type, data } of nc.status()) {
      if (type === Events.Disconnect) {
        if (up) log.warn({ server: data }, 'NATS connection lost')
        goDown()
      }
      if (type === Events.Reconnect) {
        log.warn({ server: data }, 'NATS connection restored')
        up = true
        for (const act of returnActs) act()
      }
      if (type === Events.Error) log.warn({ reason: data }, 'NATS reported an error')
    }
    goDown()
  }

  async function whileUp<T>(work: () => Promise<T>): Promise<T> {
    if (!up) throw new BusUnavailable('disconnected')
    const lost = Promise.withResolvers<never>()
    waiting.add(lost.reject)
    try {
      return await Promise.race([work(), lost.promise])
    } catch (error) {
      throw asUnavailable(error)
    } finally {
      waiting.delete(lost.reject)
    }
  }

  void follow()
  return {
    nc,
    isUp: () => up,
    whileUp,
    onReturn(act) {
      returnActs.add(act)
      return () => returnActs.delete(act)
    },
    async [Symbol.asyncDispose]() {
      const wasUp = up
      goDown()
      const givenUp = new AbortController()
      const drained = wasUp ? nc.drain().catch(() => nc.close()) : nc.close()
      await Promise.race([drained, pause(DRAIN_MS, undefined, { signal: givenUp.signal }).catch(() => {})])
      givenUp.abort()
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
