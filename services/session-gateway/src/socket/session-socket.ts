import { WebSocket } from 'ws'
import type { LocalUser } from '../sessions/session-registry.ts'

/**
 * One connection. Its state is in fields of the socket itself and its listeners are shared functions: an idle socket
 * costs little more than ws needs for it.
 */
export class SessionSocket extends WebSocket {
  /** `authenticating`: the token is verified, the account is being read. `closing`: closed here, frames are ignored. */
  phase: 'unauthenticated' | 'authenticating' | 'ready' | 'closing' = 'unauthenticated'
  /** Set while it is registered as a session: see AuthenticatedSocket. */
  user: LocalUser | undefined = undefined
  /** When the token was issued, in seconds since the epoch. */
  iat = 0
  /** Key under which it counts as unauthenticated; empty when it no longer does. */
  quotaKey = ''
  /** A ping was sent that the peer has not answered. */
  awaitsPong = false
  /** The second in which `frames` were counted. */
  second = 0
  frames = 0
  /** Messages that came for it before its `ready`. */
  backlog: Buffer[] | undefined = undefined
}
