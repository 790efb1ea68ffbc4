import { setTimeout as pause } from 'node:timers/promises'
import { backoffMs } from '@gatehouse/runtime'
import { BusUnavailable } from '../bus.ts'
import { recreateBackoff } from '../policy.ts'
import type { Client, Connection } from './connection.ts'

/** Nobody responds where JetStream is missing. While a cluster has lost most of its nodes, nobody does either. */
const isCluster = (connection: Connection): Promise<boolean> =>
  connection.whenConnected(async ({ nc }) => nc.info?.cluster !== undefined).catch(() => true)

export type Creation = { client: Client; isFirst: boolean; isCurrent(): boolean; again(afterMs: number): void }

/** Creates at once and after each connection, until it succeeds. Throws only when the server refuses the first creation. */
export async function keepCreated(connection: Connection, create: (creation: Creation) => Promise<unknown>) {
  const { log } = connection
  let generation = 0
  let stopped = false
  let timer: NodeJS.Timeout | undefined

  const attempt = (own: number) =>
    connection.whenConnected((client) =>
      create({ client, isFirst: own === 0, isCurrent: () => own === generation, again }),
    )

  async function createUntilDone() {
    if (stopped) return
    clearTimeout(timer)
    const own = ++generation
    for (let failures = 0; own === generation && connection.isUp(); failures += 1) {
      try {
        return void (await attempt(own))
      } catch (err) {
        const isAwaited = err instanceof BusUnavailable && err.reason === 'no-stream'
        if (own === generation && connection.isUp() && !isAwaited)
          log.warn({ err }, 'NATS consumer or stream not recreated yet')
        await pause(backoffMs(failures, recreateBackoff))
      }
    }
  }

  function again(afterMs: number) {
    clearTimeout(timer)
    timer = setTimeout(() => void createUntilDone(), afterMs).unref()
  }

  const unsubscribe = connection.onReconnect(() => void createUntilDone())
  const stop = () => {
    unsubscribe()
    clearTimeout(timer)
    stopped = true
    generation += 1
  }
  try {
    await attempt(generation)
  } catch (error) {
    if (!(error instanceof BusUnavailable) || (error.reason === 'no-responders' && !(await isCluster(connection)))) {
      stop()
      throw error
    }
    void createUntilDone()
  }
  return { stop }
}
