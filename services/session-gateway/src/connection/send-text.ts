import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'
import { type SessionSocket, textFrameHeader } from './session-socket.ts'

/** Terminates a slow reader. */
export function sendText(deps: Pick<OperationContext, 'sessionMetrics'>, socket: SessionSocket, message: Buffer): void {
  if (canSend(deps, socket)) socket.send(message, { binary: false })
}

export function sendFrames(
  deps: Pick<OperationContext, 'sessionMetrics'>,
  socket: SessionSocket,
  frames: Buffer,
): void {
  // Without compression ws writes each frame at once, so frames never mix.
  if (canSend(deps, socket)) socket.connection?.write(frames)
}

/** Large parts are not copied. An unsent `ready` makes no slow reader. */
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

function keep(deps: Pick<OperationContext, 'sessionMetrics'>, socket: SessionSocket, frames: Buffer): void {
  if (socket.readyState !== socket.OPEN) return
  socket.backlogBytes += frames.length
  if (socket.backlogBytes <= policy.sendBufferBytes) return void (socket.backlog ??= []).push(frames)
  deps.sessionMetrics.slowReaders.inc()
  socket.backlog = undefined
  socket.terminate()
}

export function sendOrKeep(
  deps: Pick<OperationContext, 'sessionMetrics'>,
  socket: SessionSocket,
  frames: Buffer,
): void {
  if (socket.phase === 'ready' && !socket.backlog) sendFrames(deps, socket, frames)
  else keep(deps, socket, frames)
}

/** Sends what was kept. */
export function releaseBacklog(deps: Pick<OperationContext, 'sessionMetrics'>, socket: SessionSocket): void {
  const kept = socket.backlog ?? []
  socket.backlog = undefined
  socket.backlogBytes = 0
  for (const frames of kept) sendFrames(deps, socket, frames)
}

function canSend({ sessionMetrics }: Pick<OperationContext, 'sessionMetrics'>, socket: SessionSocket): boolean {
  if (socket.readyState !== socket.OPEN) return false
  if (!isSlowReader(socket)) return true
  sessionMetrics.slowReaders.inc()
  socket.terminate()
  return false
}

function isSlowReader(socket: SessionSocket): boolean {
  const waiting = waitingBytes(socket)
  if (waiting <= policy.sendBufferCheckBytes) return false
  if (waiting > policy.sendBufferBytes) return true
  let total = 0
  for (const other of socket.siblings ?? []) total += waitingBytes(other)
  return total > policy.accountSendBufferBytes
}

function waitingBytes(socket: SessionSocket): number {
  return Math.max(0, socket.bufferedAmount - socket.unsentReadyBytes)
}
