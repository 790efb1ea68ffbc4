import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import type { SessionSocket } from './session-socket.ts'

/** Sends a message, encoded once for all its receivers. A slow reader is terminated. */
export function sendText(
  { sessionMetrics }: Pick<Deps, 'sessionMetrics'>,
  socket: SessionSocket,
  message: Buffer,
): void {
  if (socket.readyState !== socket.OPEN) return
  if (socket.bufferedAmount > policy.sendBufferBytes) {
    sessionMetrics.slowReaders.inc()
    return socket.terminate()
  }
  socket.send(message, { binary: false })
}

export function encodeMessage(message: object): Buffer {
  return Buffer.from(JSON.stringify(message))
}
