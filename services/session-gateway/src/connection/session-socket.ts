import type { Duplex } from 'node:stream'
import { closures, limits, socketErrors, upstreamLimits } from '@gatehouse/contracts'
import type { ClientKind, Closure, SocketErrorCode, SocketErrorMessage } from '@gatehouse/contracts'
import { unknownClient, type ClientDescription } from '@gatehouse/service-kit'
import { WebSocket } from 'ws'

/**
 * One WebSocket with the fields that the layers above keep on it, and the frames that they send.
 *
 * | phase             | set by                         | what a client may send                                  |
 * | ----------------- | ------------------------------ | ------------------------------------------------------- |
 * | `unauthenticated` | the upgrade                    | one `auth`, within a time limit                         |
 * | `authenticating`  | handshake.ts, `authenticate`   | nothing: reading is paused, and a message closes        |
 * | `ready`           | handshake.ts, `admit`          | messages, within the rates                              |
 * | `closing`         | close-sockets.ts, at any time  | nothing: frames are counted and ignored                 |
 *
 * Who writes the fields. The upgrade: `connection`, `client`, `quotaKey`, `connectedAt`. session-registry.ts: `session`,
 * `siblings`. The handshake and presence-watch.ts: `watched`. socket-timeouts.ts: `frames`, `framesCountedAtSecond`, `awaitsPong`.
 * send-text.ts: `unsentReadyBytes`, `backlog`, `backlogBytes`. `releaseSocket` clears what a closed socket must not keep.
 *
 * What must never happen:
 * - A socket has listeners or closures of its own. Idle sockets are most of the memory of a node.
 * - A close frame is sent before `ready` without the error that says why. Each way to close calls `tellFailure` first.
 * - A socket leaves the registry and keeps its `session`, or its place in the quota of its network.
 *
 * docs/decisions/sockets.md.
 */

/** `data` of a message, a ping and a pong. */
type Receive = (socket: SessionSocket, data: Buffer, isBinary: boolean) => void

export type SocketEvents = Record<'message' | 'ping' | 'pong' | 'close', Receive>

/** Fields instead of listeners keep an idle socket small. */
export class SessionSocket extends WebSocket {
  /** All sockets share one object. */
  events: SocketEvents | undefined = undefined
  /** `authenticating`: the account is not yet read. `closing`: frames are ignored. */
  phase: 'unauthenticated' | 'authenticating' | 'ready' | 'closing' = 'unauthenticated'
  /** Belongs to session-registry.ts. Undefined before the token is verified. */
  session: unknown = undefined
  /** All sockets of the account, this one included. */
  siblings: ReadonlySet<SessionSocket> | undefined = undefined
  connectedAt = 0
  /** `client` comes from its `auth` message. */
  client: ClientDescription & { client?: ClientKind } = unknownClient
  /** Of its spaces, it gets only the changes of these users. Undefined: of all users. */
  watched: ReadonlySet<string> | undefined = undefined
  /** Empty once the socket is `ready` or closed. */
  quotaKey = ''
  awaitsPong = false
  /** The second in which `frames` was last reduced. */
  framesCountedAtSecond = 0
  frames = 0
  connection: Duplex | undefined = undefined
  /** Bytes of `ready` that are not sent yet. They do not count against a slow reader. */
  unsentReadyBytes = 0
  backlog: Buffer[] | undefined = undefined
  backlogBytes = 0

  /** ws closes without a reason when it cannot read a frame. A gateway of the release before sends a close frame when it stops. */
  override close(code?: number, reason?: string | Buffer): void {
    if (code === closures.goingAway.code) tellFailure(this, closures.goingAway)
    else if (code !== undefined && reason === undefined) {
      tellFailure(this, code === closures.messageTooBig.code ? closures.messageTooBig : closures.firstMessageNotAuth)
    }
    super.close(code, reason)
  }

  /** ws has sent the close code itself after an `error`. */
  override emit(event: string | symbol, ...[data, isBinary]: unknown[]): boolean {
    if (event === 'message' || event === 'ping' || event === 'pong' || event === 'close') {
      this.events?.[event](this, data as Buffer, isBinary as boolean)
    }
    return true
  }
}

/** Call it before each close: until `ready` the error goes first. Spec: WebSocket handshake 5; Contract: 6, failure before ready. */
export function tellFailure(socket: SessionSocket, { message, error: code }: Closure): void {
  const isBeforeReady = socket.phase === 'unauthenticated' || socket.phase === 'authenticating'
  if (!isBeforeReady || socket.readyState !== socket.OPEN) return
  socket.send(encodeMessage({ type: 'error', message, code }), { binary: false })
}

/** With the length in one byte, in two more or in eight more. RFC 6455, 5.2. */
export function textFrameHeader(length: number): Buffer {
  if (length <= 125) return Buffer.of(0x81, length)
  if (length <= 0xffff) return Buffer.of(0x81, 126, length >> 8, length & 0xff)
  const header = Buffer.of(0x81, 127, 0, 0, 0, 0, 0, 0, 0, 0)
  header.writeBigUInt64BE(BigInt(length), 2)
  return header
}

export const malformed = Symbol('malformed')

/** Gives `malformed` for a frame that is binary, too large or no JSON. */
export function parseFrame(data: Buffer, isBinary: boolean): unknown {
  if (isBinary || data.length > limits.socketMessageBytes) return malformed
  try {
    return JSON.parse(data.toString()) as unknown
  } catch {
    return malformed
  }
}

export function encodeMessage(message: object): Buffer {
  return Buffer.from(JSON.stringify(message))
}

export function encodeFrame(message: object): Buffer {
  const payload = encodeMessage(message)
  return Buffer.concat([textFrameHeader(payload.length), payload])
}

/** `replacement` may have another text. Contract: 6, messages. */
export function encodeError(code: SocketErrorCode, replacement: Partial<SocketErrorMessage> = {}): Buffer {
  return encodeMessage({
    type: 'error',
    message: socketErrors[code],
    code,
    ...replacement,
  } satisfies SocketErrorMessage)
}

export const watchRefusals = {
  revoked: encodeError('token_revoked', { requestType: 'watch' }),
  unavailable: encodeError('service_unavailable', { requestType: 'watch' }),
}

/** By which a client knows what its message brought. Contract: 6, ref. */
export function refOf(message: unknown): { ref?: string } {
  const { ref } = Object(message) as { ref?: unknown }
  return typeof ref === 'string' && ref !== '' && ref.length <= limits.socketRefMax ? { ref } : {}
}

export function cutText(text: string): string {
  if (text.length <= upstreamLimits.errorTextMax) return text
  return [...text.slice(0, 2 * upstreamLimits.errorTextMax)].slice(0, upstreamLimits.errorTextMax).join('')
}
