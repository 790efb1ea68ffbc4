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
  if (isSlowReader(socket)) {
    sessionMetrics.slowReaders.inc()
    return socket.terminate()
  }
  socket.send(message, { binary: false })
}

/** Whether too much waits for this socket, or for all sockets of its user. */
function isSlowReader(socket: SessionSocket): boolean {
  const waiting = socket.bufferedAmount
  if (waiting <= policy.sendBufferCheckBytes) return false
  if (waiting > policy.sendBufferBytes) return true
  let total = 0
  for (const other of socket.user?.sockets ?? []) total += other.bufferedAmount
  return total > policy.accountSendBufferBytes
}

export function encodeMessage(message: object): Buffer {
  return Buffer.from(JSON.stringify(message))
}
