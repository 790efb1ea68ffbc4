import { WebSocket } from 'ws'
import type { LocalUser } from '../connections.ts'

/**
 * One connection. Its state lives in fields of the socket itself, and its listeners are shared functions: thousands of
 * idle sockets cost little more than ws needs for them.
 */
export class SessionSocket extends WebSocket {
  /** greeting: nothing heard; admitting: the token is being judged; ready; ending: closed by us, nothing counts. */
  phase: 'greeting' | 'admitting' | 'ready' | 'ending' = 'greeting'
  user: LocalUser | undefined = undefined
  /** Birth of the token in seconds since the epoch. */
  iat = 0
  /** Under which the socket counts as unproven; empty when it no longer does. */
  address = ''
  /** A ping is out that the peer has not answered. */
  unanswered = false
  /** The second that `frames` counts in. */
  second = 0
  frames = 0
  /** What was to be sent while the token was being judged. */
  backlog: Buffer[] | undefined = undefined
}
