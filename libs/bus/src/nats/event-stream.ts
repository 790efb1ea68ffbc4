import type { EventDefinition } from '@gatehouse/contracts'
import { DiscardPolicy, NatsError, RetentionPolicy, StorageType, nanos } from 'nats'
import type { JetStreamManager, NatsConnection, StreamConfig } from 'nats'
import { BusUnavailable } from '../bus.ts'
import { clusterReplicas, completeAgainMs, duplicateWindowMs, maxAgeMs, streamBytes } from '../policy.ts'
import type { Client, Connection } from './connection.ts'
import { keepCreated } from './keep-created.ts'

/**
 * The JetStream streams that keep events, and which event is in which stream.
 *
 * `events` has those that can end sessions. `changes` has all others, and of each subject only the last one. Both drop their
 * oldest events at their size, so neither is ever full.
 *
 * One service creates the streams (`openStream`), the others wait until they exist (`awaitStream`). `ensure` runs after each
 * connection, and before each consumer: a server may have lost its store. It has no state but the server's.
 *
 * Callers. connect-nats.ts opens the streams, publishes under `subjectOf` and subscribes at `placeOf`. consumers.ts and
 * pulled-consumers.ts call `ensure`. The readiness check calls `listFaultsOf`.
 *
 * What must never happen:
 * - A flood of other events displaces one that ends sessions. That is why there are two streams.
 * - A start overwrites what an operator has configured. Only a missing limit or replica is added (`completeStream`).
 * - A start waits for all nodes of a cluster. A stream may begin with one replica, and gets the others later.
 *
 * docs/decisions/event-bus.md.
 */

export type EventStream = Awaited<ReturnType<typeof openStream>>
export type Streams = Awaited<ReturnType<typeof openStreams>>
export type Place = { stream: EventStream; filter: string }

type StreamOptions = { prefix: string; maxBytes: number | undefined; isCreator: boolean }

/** The creator makes missing streams, others wait for them. `maxBytes`: of each. docs/decisions/event-bus.md. */
export async function openStreams(connection: Connection, options: StreamOptions) {
  const { prefix, maxBytes = streamBytes, isCreator } = options
  const limits = { max_bytes: maxBytes, max_age: nanos(maxAgeMs) }
  const open = (name: string, own: Partial<Limits>) =>
    (isCreator ? openStream : awaitStream)(connection, `${prefix}-${name}`, { subjects: [], ...limits, ...own })
  const events = await open('events', { subjects: [`${prefix}.event.>`] })
  const changes = await open('changes', { subjects: [`${prefix}.change.>`], max_msgs_per_subject: 1 })
  const subjectInChanges = ({ subject }: EventDefinition, key: string) =>
    `${prefix}.${subject.replace(/^event/, 'change')}.${key}`
  return {
    all: [events, changes],
    /** The subject of one event. `key` is its id or what it is the last of. */
    subjectOf: (event: EventDefinition, key: string): string =>
      event.stream === 'changes' ? subjectInChanges(event, key) : `${prefix}.${event.subject}`,
    placeOf: (event: EventDefinition): Place =>
      event.stream === 'changes'
        ? { stream: changes, filter: subjectInChanges(event, '*') }
        : { stream: events, filter: `${prefix}.${event.subject}` },
  }
}

const nameInUse = 10058
const streamMissing = 10059
/** No suitable peers, or too little room on them. */
const tooFewNodes = [10005, 10023]

const hasCode = (error: unknown, ...codes: number[]) =>
  error instanceof NatsError && codes.includes(error.api_error?.err_code ?? 0)

const replicasFor = ({ info }: NatsConnection): number => (info?.cluster === undefined ? 1 : clusterReplicas)

type Limits = Pick<StreamConfig, 'subjects' | 'max_bytes' | 'max_age'> & Partial<StreamConfig>

/** Creates the stream again where a server lost its store, which would else refuse events until the next start. */
async function openStream(connection: Connection, name: string, limits: Limits) {
  const ensure = ({ jsm, nc }: Client) => createStream(jsm, { name, ...limits, num_replicas: replicasFor(nc) })
  const complete = completeStream(connection, name, limits)
  await keepCreated(connection, async ({ client, again }) => {
    const { config } = await ensure(client)
    // Nobody waits: a node that is away may take seconds.
    void complete(config).then((isComplete) => isComplete || again(completeAgainMs))
  })
  return { connection, name, ensure }
}

/** Of a process that may not create it: what another one would have made of it first would stay. */
async function awaitStream(connection: Connection, name: string): Promise<EventStream> {
  let isTold = false
  const ensure = async ({ jsm }: Client) => {
    try {
      return await jsm.streams.info(name)
    } catch (error) {
      if (!hasCode(error, streamMissing)) throw error
      if (!isTold) connection.log.warn({ stream: name }, 'waiting for identity, which creates the streams of NATS')
      isTold = true
      throw new BusUnavailable('no-stream', error)
    }
  }
  await keepCreated(connection, async ({ client }) => await ensure(client))
  return { connection, name, ensure }
}

/** An existing stream stays as another release or an operator has configured it. */
async function createStream(jsm: JetStreamManager, own: Limits & { name: string; num_replicas: number }) {
  const kind = { storage: StorageType.File, retention: RetentionPolicy.Limits, discard: DiscardPolicy.Old }
  const config = { ...kind, duplicate_window: nanos(duplicateWindowMs), ...own }
  try {
    return await jsm.streams.add(config)
  } catch (error) {
    if (hasCode(error, nameInUse)) return await jsm.streams.info(own.name)
    if (hasCode(error, ...tooFewNodes)) return await jsm.streams.add({ ...config, num_replicas: 1 })
    throw error
  }
}

/** What it returns gives an existing stream what it must have. False: it has to be repeated. */
function completeStream(connection: Connection, name: string, { max_bytes }: Limits) {
  let mayUpdate = true
  return async (config: StreamConfig): Promise<boolean> => {
    const update = async ({ jsm, nc }: Client) => {
      const num_replicas = replicasFor(nc)
      const missing = {
        ...(config.max_bytes < 0 && { max_bytes }),
        ...(config.num_replicas < num_replicas && { num_replicas }),
      }
      if (mayUpdate && Object.keys(missing).length > 0) await jsm.streams.update(name, missing)
    }
    try {
      await connection.whenConnected(update)
    } catch (error) {
      // A cluster that starts does not know all of its nodes.
      if (error instanceof BusUnavailable || hasCode(error, ...tooFewNodes)) return false
      // Not under the nats.conf of 0.3.0, for `changes`.
      mayUpdate = false
    }
    return true
  }
}

/** What the stream lacks in a cluster, so that the loss of a node stops or has stopped it. Contract: 8, NATS of three nodes. */
export async function listFaultsOf({ connection, name }: EventStream): Promise<string[]> {
  try {
    return await connection.whenConnected(async ({ jsm, nc }) => {
      const { config, cluster } = await jsm.streams.info(name)
      const wanted = replicasFor(nc)
      if (wanted === 1) return []
      // A node that lost the others answers too.
      if (cluster?.leader === undefined) return [noLeader(name)]
      if (config.num_replicas < wanted) return [`${name} has ${config.num_replicas} of ${wanted} replicas`]
      const behind = cluster.replicas?.filter(({ offline, current }) => offline || !current) ?? []
      return behind.map((node) => `${name} is ${node.offline ? 'offline' : 'not up to date'} on ${node.name}`)
    })
  } catch (error) {
    if (hasCode(error, streamMissing)) return [`${name} does not exist`]
    if (error instanceof BusUnavailable && error.reason !== 'disconnected') return [noLeader(name)]
    throw error
  }
}

const noLeader = (name: string) => `${name} has no leader`
