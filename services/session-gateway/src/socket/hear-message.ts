import { limits } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { encodeMessage, sendText } from './send-text.ts'
import type { SessionSocket } from './session-socket.ts'
import { createTokenBucket, takeToken } from './token-bucket.ts'

const pong = encodeMessage({ type: 'pong' })
const rateLimited = encodeMessage({ type: 'error', message: 'Rate limited' })
const invalidJson = encodeMessage({ type: 'error', message: 'Invalid JSON' })

export const malformed = Symbol('malformed')

/** A message after `ready`. Only `ping` is known here, and free; all else costs a token of the user. Contract: 6. */
export function hearMessage(deps: Pick<Deps, 'clock' | 'meters'>, socket: SessionSocket, message: unknown): void {
  if (isPing(message)) return sendText(deps, socket, pong)
  const { user } = socket
  if (!user) return
  const now = deps.clock.now()
  user.bucket ??= createTokenBucket(now)
  if (!takeToken(user.bucket, now)) return sendText(deps, socket, rateLimited)
  if (message === malformed) sendText(deps, socket, invalidJson)
}

/** What a frame says; `malformed` when it is binary or no JSON. */
export function parseFrame(data: Buffer, isBinary: boolean): unknown {
  if (isBinary || data.length > limits.socketMessageBytes) return malformed
  try {
    return JSON.parse(data.toString()) as unknown
  } catch {
    return malformed
  }
}

function isPing(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'type' in message && message.type === 'ping'
}
