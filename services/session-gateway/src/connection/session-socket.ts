import type { Duplex } from 'node:stream'
import { closures } from '@gatehouse/contracts'
import { WebSocket } from 'ws'
import { unknownClient, type ClientDescription } from './describe-client.ts'
import { encodeMessage } from './text-frame.ts'

export type SocketEvents = {
  message(socket: SessionSocket, data: Buffer, isBinary: boolean): void
  ping(socket: SessionSocket, data: Buffer): void
  pong(socket: SessionSocket, data: Buffer): void
  close(socket: SessionSocket): void
}

/** Fields instead of listeners keep an idle socket small. */
export class SessionSocket extends WebSocket {
  /** All sockets share one object. */
  events: SocketEvents | undefined = undefined
  /** `authenticating`: the token is verified, the account not yet read. `closing`: frames are ignored. */
  phase: 'unauthenticated' | 'authenticating' | 'ready' | 'closing' = 'unauthenticated'
  /** What the layer of sessions knows of it, from a verified token until the end. */
  session: unknown = undefined
  /** All sockets of the account, this one included. */
  siblings: ReadonlySet<SessionSocket> | undefined = undefined
  connectedAt = 0
  client: ClientDescription = unknownClient
  /** Empty once the socket is `ready` or closed. */
  quotaKey = ''
  awaitsPong = false
  /** In this second `frames` was last reduced. */
  second = 0
  frames = 0
  connection: Duplex | undefined = undefined
  /** By the timer. */
  readyAt = 0
  /** Not counted for a slow reader: the client does not cause its size. */
  unsentReadyBytes = 0
  /** Frames that came before `ready`. */
  backlog: Buffer[] | undefined = undefined
  backlogBytes = 0

  /** ws closes without a reason when it cannot read a frame. Contract: 6, failure before `ready`. */
  override close(code?: number, reason?: string | Buffer): void {
    const isUnreadable = code !== undefined && reason === undefined
    if (isUnreadable && this.isBeforeReady() && this.readyState === this.OPEN) {
      const { message, error } =
        code === closures.messageTooBig.code ? closures.messageTooBig : closures.firstMessageNotAuth
      this.send(encodeMessage({ type: 'error', message, code: error }), { binary: false })
    }
    super.close(code, reason)
  }

  /** ws has sent the close code itself after an `error`. */
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
