import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import type { SessionSocket } from './session-socket.ts'
import { textFrameHeader } from './text-frame.ts'

/** Sends a message, encoded once for all its receivers. A slow reader is terminated. */
export function sendText(deps: Pick<Deps, 'sessionMetrics'>, socket: SessionSocket, message: Buffer): void {
  if (canSend(deps, socket)) socket.send(message, { binary: false })
}

/** Sends the bytes of whole frames, encoded once for all their receivers. A slow reader is terminated. */
export function sendFrames(deps: Pick<Deps, 'sessionMetrics'>, socket: SessionSocket, frames: Buffer): void {
  // ws writes each frame at once as well (there is no compression), so frames never mix.
  if (canSend(deps, socket)) socket.connection?.write(frames)
}

/** Sends `ready` as one frame of the parts: large ones are not copied. What waits of it never makes a slow reader. */
export function sendReady(socket: SessionSocket, parts: readonly Buffer[]): void {
  const { connection } = socket
  if (socket.readyState !== socket.OPEN || !connection) return
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const frame = [textFrameHeader(length), ...parts]
  const chunks = length > policy.copiedReadyBytes ? frame : [Buffer.concat(frame)]
  const last = chunks.pop() ?? ''
  socket.unsentReadyBytes = length
  connection.cork()
  for (const chunk of chunks) connection.write(chunk)
  connection.write(last, () => (socket.unsentReadyBytes = 0))
  connection.uncork()
}

/** Keeps the frames of a message until the socket is `ready`. One that has too much waiting is terminated. */
export function keepForReady(deps: Pick<Deps, 'sessionMetrics'>, socket: SessionSocket, frames: Buffer): void {
  if (socket.readyState !== socket.OPEN) return
  socket.backlogBytes += frames.length
  if (socket.backlogBytes <= policy.sendBufferBytes) return void (socket.backlog ??= []).push(frames)
  deps.sessionMetrics.slowReaders.inc()
  socket.backlog = undefined
  socket.terminate()
}

function canSend({ sessionMetrics }: Pick<Deps, 'sessionMetrics'>, socket: SessionSocket): boolean {
  if (socket.readyState !== socket.OPEN) return false
  if (!isSlowReader(socket)) return true
  sessionMetrics.slowReaders.inc()
  socket.terminate()
  return false
}

/** Whether too much waits for this socket, or for all sockets of its user. */
function isSlowReader(socket: SessionSocket): boolean {
  const waiting = waitingBytes(socket)
  if (waiting <= policy.sendBufferCheckBytes) return false
  if (waiting > policy.sendBufferBytes) return true
  let total = 0
  for (const other of socket.user?.sockets ?? []) total += waitingBytes(other)
  return total > policy.accountSendBufferBytes
}

function waitingBytes(socket: SessionSocket): number {
  return Math.max(0, socket.bufferedAmount - socket.unsentReadyBytes)
}

export function encodeMessage(message: object): Buffer {
  return Buffer.from(JSON.stringify(message))
}
