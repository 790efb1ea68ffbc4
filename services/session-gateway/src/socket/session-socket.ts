import type { Duplex } from 'node:stream'
import { closures } from '@gatehouse/contracts'
import { WebSocket } from 'ws'
import type { LocalUser } from '../sessions/session-registry.ts'
import type { LiveUpstream } from '../upstreams/live-upstream.ts'
import type { MessageQueue } from '../upstreams/message-queue.ts'
import { unknownClient, type ClientDescription } from './describe-client.ts'
import { encodeMessage } from './send-text.ts'

/** What follows from the events of a socket. */
export type SocketEvents = {
  message(socket: SessionSocket, data: Buffer, isBinary: boolean): void
  ping(socket: SessionSocket, data: Buffer): void
  pong(socket: SessionSocket, data: Buffer): void
  close(socket: SessionSocket): void
}

/**
 * One connection. Its state is in fields of the socket itself and it has no listeners: an idle socket costs little more
 * than ws needs for it.
 */
export class SessionSocket extends WebSocket {
  /** One object for all sockets: listeners would be a table of their own in each. */
  events: SocketEvents | undefined = undefined
  /** `authenticating`: the token is verified, the account is being read. `closing`: closed here, frames are ignored. */
  phase: 'unauthenticated' | 'authenticating' | 'ready' | 'closing' = 'unauthenticated'
  /** Set while it is registered as a session: see AuthenticatedSocket. */
  user: LocalUser | undefined = undefined
  /** When the token was issued, in seconds since the epoch. */
  iat = 0
  /** When the token expires, in seconds since the epoch. */
  exp = 0
  /** Version of the account's state that admitted it. The user's own may be newer. */
  stateVersion: number | undefined = undefined
  /** Told in `ready`. */
  sessionId = ''
  connectedAt = 0
  client: ClientDescription = unknownClient
  /** Key under which it counts as unauthenticated; empty when it no longer does. */
  quotaKey = ''
  /** A ping was sent that the peer has not answered. */
  awaitsPong = false
  /** The second up to which `frames` were worked off. */
  second = 0
  /** Frames that count against the limit of the phase. */
  frames = 0
  /** The connection below it, for frames that are encoded once for many sockets. */
  connection: Duplex | undefined = undefined
  /** When it got its `ready`, by the timer. */
  readyAt = 0
  /** What its `ready` has still to send: the size of that is the instance's doing and not the client's. */
  unsentReadyBytes = 0
  /** Frames that came for it before its `ready`. */
  backlog: Buffer[] | undefined = undefined
  /** Of what upstreams put there. */
  backlogBytes = 0
  /** What it has sent to upstreams and they have not yet got. */
  messageQueues: Map<LiveUpstream, MessageQueue> | undefined = undefined

  /**
   * ws itself closes a socket whose frames it cannot read, and gives no reason then. Before `ready` an error message
   * goes before that close too. Contract: 6, failure before `ready`.
   */
  override close(code?: number, reason?: string | Buffer): void {
    const isUnreadable = code !== undefined && reason === undefined
    if (isUnreadable && this.isBeforeReady() && this.readyState === this.OPEN) {
      const { message } = code === closures.messageTooBig.code ? closures.messageTooBig : closures.firstMessageNotAuth
      this.send(encodeMessage({ type: 'error', message }), { binary: false })
    }
    super.close(code, reason)
  }

  /** Of `error`, a broken or oversized frame, nothing follows: ws has sent the close code itself. */
  override emit(event: string | symbol, ...[data, isBinary]: unknown[]): boolean {
    const { events } = this
    if (event === 'message') events?.message(this, data as Buffer, isBinary as boolean)
    else if (event === 'ping') events?.ping(this, data as Buffer)
    else if (event === 'pong') events?.pong(this, data as Buffer)
    else if (event === 'close') events?.close(this)
    return true
  }

  isBeforeReady(): boolean {
    return this.phase === 'unauthenticated' || this.phase === 'authenticating'
  }
}
