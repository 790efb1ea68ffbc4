import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'
import { type SessionSocket, textFrameHeader } from './session-socket.ts'

type SendDeps = Pick<OperationContext, 'sessionMetrics'>

/** Terminates a slow reader. */
export function sendText(deps: SendDeps, socket: SessionSocket, message: Buffer): void {
  if (canSend(deps, socket)) socket.send(message, { binary: false })
}

function sendFrames(deps: SendDeps, socket: SessionSocket, frames: Buffer): void {
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

export function sendOrKeep(deps: SendDeps, socket: SessionSocket, frames: Buffer): void {
  if (socket.phase === 'ready' && !socket.backlog) return sendFrames(deps, socket, frames)
  if (socket.readyState !== socket.OPEN) return
  socket.backlogBytes += frames.length
  if (socket.backlogBytes <= policy.sendBufferBytes) return void (socket.backlog ??= []).push(frames)
  socket.backlog = undefined
  terminateSlowReader(deps, socket)
}

/** Sends what was kept. */
export function releaseBacklog(deps: SendDeps, socket: SessionSocket): void {
  const backlog = socket.backlog ?? []
  socket.backlog = undefined
  socket.backlogBytes = 0
  for (const frames of backlog) sendFrames(deps, socket, frames)
}

function canSend(deps: SendDeps, socket: SessionSocket): boolean {
  if (socket.readyState !== socket.OPEN) return false
  if (!isSlowReader(socket)) return true
  terminateSlowReader(deps, socket)
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

const waitingBytes = (socket: SessionSocket) => Math.max(0, socket.bufferedAmount - socket.unsentReadyBytes)

function terminateSlowReader({ sessionMetrics }: SendDeps, socket: SessionSocket): void {
  sessionMetrics.slowReaders.inc()
  socket.terminate()
}
