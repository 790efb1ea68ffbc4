import { DiscardPolicy, NatsError, RetentionPolicy, StorageType, nanos } from 'nats'
import type { JetStreamClient, JetStreamManager, StreamInfo } from 'nats'
import type { BusLog } from '../bus.ts'
import type { Link } from './link.ts'
import { persist } from './persist.ts'

const MAX_AGE_MS = 24 * 60 * 60 * 1000
const DUPLICATE_WINDOW_MS = 2 * 60 * 1000
const NAME_IN_USE = 10058

/** What the parts of the bus share: the connection, the names under `prefix`, and the stream that keeps the events. */
export type EventStream = {
  link: Link
  log: BusLog
  js: JetStreamClient
  jsm: JetStreamManager
  name: string
  subjectOf(subject: string): string
  /** Makes the stream where it is missing; any number of processes may do so at once. */
  ensure(): Promise<StreamInfo>
}

/** Opens the stream of `prefix`, making it where it is missing. */
export async function openEventStream(link: Link, prefix: string, log: BusLog): Promise<EventStream> {
  const jsm = await link.nc.jetstreamManager({ checkAPI: false })
  const name = `${prefix}-events`
  const config = {
    name,
    subjects: [`${prefix}.event.>`],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.Old,
    max_age: nanos(MAX_AGE_MS),
    duplicate_window: nanos(DUPLICATE_WINDOW_MS),
  }

  async function ensure(): Promise<StreamInfo> {
    try {
      return await jsm.streams.add(config)
    } catch (error) {
      // Another release, or an operator (replicas, limits), has given it another shape: it is theirs to decide.
      if (error instanceof NatsError && error.api_error?.err_code === NAME_IN_USE) return await jsm.streams.info(name)
      throw error
    }
  }

  // Again after each reconnection: a server that lost its store must not refuse events for good.
  await persist({ link, log }, ensure)
  return { link, log, js: jsm.jetstream(), jsm, name, subjectOf: (subject) => `${prefix}.${subject}`, ensure }
}
