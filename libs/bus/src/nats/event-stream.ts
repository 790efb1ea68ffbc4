import { setTimeout as pause } from 'node:timers/promises'
import type { EventDefinition } from '@gatehouse/contracts'
import { backoffMs } from '@gatehouse/runtime'
import { DiscardPolicy, NatsError, RetentionPolicy, StorageType, nanos } from 'nats'
import type { NatsConnection, StreamConfig, StreamInfo } from 'nats'
import { BusUnavailable } from '../bus.ts'
import {
  clusterReplicas,
  completeAgainMs,
  duplicateWindowMs,
  maxAgeMs,
  recreateBackoff,
  streamBytes,
} from '../policy.ts'
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
/** No suitable peers, or too little room on them. */
const tooFewNodes = [10005, 10023]

const hasCode = (error: unknown, ...codes: number[]) =>
  error instanceof NatsError && codes.includes(error.api_error?.err_code ?? 0)

const replicasFor = ({ info }: NatsConnection): number => (info?.cluster === undefined ? 1 : clusterReplicas)

async function openStream(connection: Connection, name: string, limits: Partial<StreamConfig>) {
  const kind = { storage: StorageType.File, retention: RetentionPolicy.Limits, discard: DiscardPolicy.Old }
  const config = { name, ...kind, duplicate_window: nanos(duplicateWindowMs), ...limits }
  let mayComplete = true

  async function add({ jsm }: Client, num_replicas: number): Promise<StreamInfo> {
    try {
      return await jsm.streams.add({ ...config, num_replicas })
    } catch (error) {
      if (num_replicas > 1 && hasCode(error, ...tooFewNodes))
        return await jsm.streams.add({ ...config, num_replicas: 1 })
      throw error
    }
  }

  async function ensure(client: Client): Promise<StreamInfo> {
    const { jsm, nc } = client
    const replicas = replicasFor(nc)
    try {
      return await add(client, replicas)
    } catch (error) {
      if (!hasCode(error, nameInUse)) throw error
    }
    // Another release or an operator may have configured it. That stays, but for what it must have.
    const info = await jsm.streams.info(name)
    const missing = {
      ...(info.config.max_bytes < 0 && { max_bytes: limits.max_bytes ?? -1 }),
      ...(info.config.num_replicas < replicas && { num_replicas: replicas }),
    }
    if (!mayComplete || Object.keys(missing).length === 0) return info
    try {
      return await jsm.streams.update(name, missing)
    } catch (error) {
      // Only identity may.
      mayComplete = hasCode(error, ...tooFewNodes)
      return info
    }
  }

  // A server that lost its store would refuse events until the next start.
  await keepCreated(connection, async ({ client, again }) => {
    const { config } = await ensure(client)
    // A cluster that starts does not know all of its nodes.
    if (mayComplete && config.num_replicas < replicasFor(client.nc)) again(completeAgainMs)
  })
  return { connection, name, ensure }
}

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
    if (!(error instanceof BusUnavailable) || (error.reason === 'no-responders' && !(await isCluster(connection)))) {
      stop()
      throw error
    }
    void createUntilDone()
  }
  return { stop }
}
