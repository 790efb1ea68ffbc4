import type { Socket } from 'node:net'
import type { OpenConnection } from '@gatehouse/service-kit'
import type { buildConnector } from 'undici'

/** The replicas that run in this process, by origin. */
export type InProcessReplicas = ReadonlyMap<string, OpenConnection>

/** Connects a pool to a replica of this process. */
export function connectInProcess(open: OpenConnection): buildConnector.connector {
  return (_options, callback) => {
    try {
      const connection = open()
      // As a network does: the pool expects no answer before it has asked for the next connection.
      setImmediate(() => callback(null, connection as Socket))
    } catch (error) {
      setImmediate(() => callback(error as Error, null))
    }
  }
}
