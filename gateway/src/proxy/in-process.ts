import type { Socket } from 'node:net'
import type { OpenConnection } from '@gatehouse/service-kit'
import type { buildConnector } from 'undici'

export type InProcessReplicas = ReadonlyMap<string, OpenConnection>

export function connectInProcess(open: OpenConnection): buildConnector.connector {
  return (_options, callback) => {
    try {
      const connection = open()
      // The pool expects the answer asynchronously.
      setImmediate(() => callback(null, connection as Socket))
    } catch (error) {
      setImmediate(() => callback(error as Error, null))
    }
  }
}
