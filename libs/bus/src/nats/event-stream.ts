import { DiscardPolicy, NatsError, RetentionPolicy, StorageType, nanos } from 'nats'
import type { JetStreamClient, JetStreamManager, StreamInfo } from 'nats'
import type { BusLog } from '../bus.ts'
import { duplicateWindowMs, maxAgeMs } from '../policy.ts'
import type { Connection } from './connection.ts'
import { recreateOnReconnect } from './recreate-on-reconnect.ts'

const nameInUse = 10058

export type EventStream = {
  connection: Connection
  log: BusLog
  js: JetStreamClient
  jsm: JetStreamManager
  name: string
  prefix: string
  /** From a definition's subject to that of NATS. */
  subjectOf(subject: string): string
  /** Many processes may call it at once. */
  ensure(): Promise<StreamInfo>
}

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
      // Another release or an operator may have configured it (replicas, limits). That stays.
      if (error instanceof NatsError && error.api_error?.err_code === nameInUse) return await jsm.streams.info(name)
      throw error
    }
  }

  const subjectOf = (subject: string) => `${prefix}.${subject}`

  // A server that lost its store would refuse events until the next start.
  await recreateOnReconnect({ connection, log }, ensure)
  return { connection, log, js: jsm.jetstream(), jsm, name, prefix, subjectOf, ensure }
}
