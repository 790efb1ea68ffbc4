import { Unavailable } from '@gatehouse/runtime'

export type UnavailableReason = 'no-responders' | 'timeout' | 'disconnected'

const messages: Record<UnavailableReason, string> = {
  'no-responders': 'no process responds to the call',
  timeout: 'no response in time',
  disconnected: 'no connection to NATS',
}

/**
 * The bus could not carry a message: no process responds to the call, no response came in time, or there is no
 * connection. It is answered with 503 where nothing catches it. Contract: 1.
 */
export class BusUnavailable extends Unavailable {
  override readonly name = 'BusUnavailable'
  readonly reason: UnavailableReason

  constructor(reason: UnavailableReason, cause?: unknown) {
    super(`Bus unavailable: ${messages[reason]}`, cause === undefined ? {} : { cause })
    this.reason = reason
  }
}
