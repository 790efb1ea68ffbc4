import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import type { SessionSocket } from './session-socket.ts'

/** Sends a message, whole and encoded once for all its receivers. A peer that does not read is cut. */
export function sendText(deps: Pick<Deps, 'meters'>, socket: SessionSocket, message: Buffer): void {
  if (socket.readyState !== socket.OPEN) return
  if (socket.bufferedAmount > policy.sendBufferBytes) {
    deps.meters.slowReaders.inc()
    return socket.terminate()
  }
  socket.send(message, { binary: false })
}

/** A message as it travels. */
export function encodeMessage(message: object): Buffer {
  return Buffer.from(JSON.stringify(message))
}
