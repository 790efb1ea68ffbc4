import { DiscardPolicy, NatsError, RetentionPolicy, StorageType, nanos } from 'nats'
import type { JetStreamClient, JetStreamManager, StreamInfo } from 'nats'
import type { BusLog } from '../bus.ts'
import { duplicateWindowMs, maxAgeMs } from '../policy.ts'
import type { Connection } from './connection.ts'
import { recreateOnReconnect } from './recreate-on-reconnect.ts'

const nameInUse = 10058

/** What the parts of the bus have in common: the connection, the names under `prefix`, and the stream of the events. */
export type EventStream = {
  connection: Connection
  log: BusLog
  js: JetStreamClient
  jsm: JetStreamManager
  name: string
  prefix: string
  /** The subject of NATS for a definition's subject. */
  subjectOf(subject: string): string
  /** Creates the stream where it is missing; any number of processes may do so at once. */
  ensure(): Promise<StreamInfo>
}

/** Opens the stream of `prefix`, creating it where it is missing. */
export async function openEventStream(connection: Connection, prefix: string, log: BusLog): Promise<EventStream> {
  const jsm = await connection.nc.jetstreamManager({ checkAPI: false })
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

  async function ensure(): Promise<StreamInfo> {
    try {
      return await jsm.streams.add(config)
    } catch (error) {
      // Another release, or an operator (replicas, limits), has given it another configuration, which stays.
      if (error instanceof NatsError && error.api_error?.err_code === nameInUse) return await jsm.streams.info(name)
      throw error
    }
  }

  const subjectOf = (subject: string) => `${prefix}.${subject}`

  // After each reconnection too: a server that lost its store would refuse events until the next start.
  await recreateOnReconnect({ connection, log }, ensure)
  return { connection, log, js: jsm.jetstream(), jsm, name, prefix, subjectOf, ensure }
}
