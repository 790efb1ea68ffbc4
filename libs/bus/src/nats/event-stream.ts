import { setTimeout as pause } from 'node:timers/promises'
import type { EventDefinition } from '@gatehouse/contracts'
import { backoffMs } from '@gatehouse/runtime'
import { DiscardPolicy, NatsError, RetentionPolicy, StorageType, nanos } from 'nats'
import type { StreamConfig, StreamInfo } from 'nats'
import { BusUnavailable } from '../bus.ts'
import { duplicateWindowMs, maxAgeMs, recreateBackoff, streamBytes } from '../policy.ts'
import type { Client, Connection } from './connection.ts'

export type EventStream = Awaited<ReturnType<typeof openStream>>
export type Streams = Awaited<ReturnType<typeof openStreams>>
export type Place = { stream: EventStream; filter: string }

/** docs/decisions/event-bus.md. */
export async function openStreams(connection: Connection, prefix: string, maxBytes = streamBytes) {
  const limits = { max_bytes: maxBytes, max_age: nanos(maxAgeMs) }
  const events = await openStream(connection, `${prefix}-events`, { subjects: [`${prefix}.event.>`], ...limits })
  const subjects = [`${prefix}.change.>`]
  const changes = await openStream(connection, `${prefix}-changes`, { subjects, max_msgs_per_subject: 1, ...limits })
  const subjectInChanges = ({ subject }: EventDefinition, key: string) =>
    `${prefix}.${subject.replace(/^event/, 'change')}.${key}`
  return {
    all: [events, changes],
    /** The subject of one event. `key` is its id or what it is the last of. */
    subjectOf: (event: EventDefinition, key: string): string =>
      event.kept === 'changes' ? subjectInChanges(event, key) : `${prefix}.${event.subject}`,
    /** Where it is published, then where the release before this one does. */
    placesOf(event: EventDefinition): [Place, ...Place[]] {
      const inEvents = { stream: events, filter: `${prefix}.${event.subject}` }
      return event.kept === 'changes'
        ? [{ stream: changes, filter: subjectInChanges(event, '*') }, inEvents]
        : [inEvents]
    },
  }
}

const nameInUse = 10058

async function openStream(connection: Connection, name: string, limits: Partial<StreamConfig>) {
  let isBounded = false

  async function ensure({ jsm }: Client): Promise<StreamInfo> {
    try {
      const config = { storage: StorageType.File, retention: RetentionPolicy.Limits, discard: DiscardPolicy.Old }
      return await jsm.streams.add({ name, ...config, duplicate_window: nanos(duplicateWindowMs), ...limits })
    } catch (error) {
      if (!(error instanceof NatsError) || error.api_error?.err_code !== nameInUse) throw error
    }
    // Another release or an operator may have configured it (replicas, limits). That stays, but one limit it must have.
    const info = await jsm.streams.info(name)
    if (info.config.max_bytes >= 0 || isBounded) return info
    isBounded = true
    const { max_bytes = -1 } = limits
    // Only identity may.
    return await jsm.streams.update(name, { max_bytes }).catch(() => info)
  }

  // A server that lost its store would refuse events until the next start.
  await keepCreated(connection, ({ client }) => ensure(client))
  return { connection, name, ensure }
}

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
    // A server without JetStream has no responder.
    if (!(error instanceof BusUnavailable) || error.reason === 'no-responders') {
      stop()
      throw error
    }
    void createUntilDone()
  }
  return { stop }
}
