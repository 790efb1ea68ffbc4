import { setTimeout as pause } from 'node:timers/promises'
import { backoffMs } from '@gatehouse/runtime'
import { DiscardPolicy, NatsError, RetentionPolicy, StorageType, nanos } from 'nats'
import type { StreamInfo } from 'nats'
import { BusUnavailable } from '../bus.ts'
import { duplicateWindowMs, maxAgeMs, recreateBackoff } from '../policy.ts'
import type { Client, Connection } from './connection.ts'

export type EventStream = {
  connection: Connection
  name: string
  /** From a definition's subject to that of NATS. */
  subjectOf(subject: string): string
  /** Many processes may call it at once. */
  ensure(client: Client): Promise<StreamInfo>
}

const nameInUse = 10058

export async function openEventStream(connection: Connection, prefix: string): Promise<EventStream> {
  const name = `${prefix}-events`
  const config = {
    name,
    subjects: [`${prefix}.event.>`],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.Old,
    max_age: nanos(maxAgeMs),
    duplicate_window: nanos(duplicateWindowMs),
  }

  async function ensure({ jsm }: Client): Promise<StreamInfo> {
    try {
      return await jsm.streams.add(config)
    } catch (error) {
      // Another release or an operator may have configured it (replicas, limits). That stays.
      if (error instanceof NatsError && error.api_error?.err_code === nameInUse) return await jsm.streams.info(name)
      throw error
    }
  }

  // A server that lost its store would refuse events until the next start.
  await keepCreated(connection, ({ client }) => ensure(client))
  return { connection, name, subjectOf: (subject) => `${prefix}.${subject}`, ensure }
}

export type Creation = {
  client: Client
  /** The first attempt, with a connection. */
  isFirst: boolean
  isCurrent(): boolean
  again(afterMs: number): void
}

/** Creates at once and after each connection, until it succeeds. Throws only when the server refuses the first creation. */
export async function keepCreated(
  connection: Connection,
  create: (creation: Creation) => Promise<unknown>,
): Promise<{ stop(): void }> {
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
        if (own === generation && connection.isUp()) log.warn({ err }, 'NATS consumer or stream not recreated yet')
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
    if (isRefused(error)) {
      stop()
      throw error
    }
    void createUntilDone()
  }
  return { stop }
}

/** A server without JetStream has no responder. */
function isRefused(error: unknown): boolean {
  return !(error instanceof BusUnavailable) || error.reason === 'no-responders'
}
