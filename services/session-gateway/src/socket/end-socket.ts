import type { Closure } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { encodeMessage, sendText } from './send-text.ts'
import type { SessionSocket } from './session-socket.ts'

type Needs = Pick<Deps, 'connections' | 'presence' | 'quota' | 'unproven' | 'pings' | 'braked' | 'meters'>

/** Ends a socket before `ready`: says why, then closes. Contract: 6, failure before `ready`. */
export function turnAway(deps: Needs, socket: SessionSocket, { code, message }: Closure): void {
  sendText(deps, socket, encodeMessage({ type: 'error', message }))
  endSocket(deps, socket, { code, message })
}

/** Closes a socket. From here on nothing that it sends counts, and it is nobody's any more. */
export function endSocket(
  deps: Needs,
  socket: SessionSocket,
  { code, message }: Pick<Closure, 'code' | 'message'>,
): void {
  releaseSocket(deps, socket)
  socket.phase = 'ending'
  // What the peer still sends is of no interest but for its part of the closing handshake, which must be read.
  socket.resume()
  socket.close(code, message)
}

/** Takes a socket off every list; its user gets the grace period when it was the last. */
export function releaseSocket(deps: Needs, socket: SessionSocket): void {
  deps.unproven.delete(socket)
  deps.pings.delete(socket)
  deps.braked.delete(socket)
  socket.backlog = undefined
  const user = deps.connections.leave(socket)
  if (user) deps.presence.abandon(user)
}

/** Gives the place among the unproven back: on `ready`, or when the connection is gone. */
export function releaseQuota(deps: Pick<Deps, 'quota'>, socket: SessionSocket): void {
  if (socket.address === '') return
  deps.quota.release(socket.address)
  socket.address = ''
}
