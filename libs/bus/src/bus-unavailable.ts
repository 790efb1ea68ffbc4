import { Unavailable } from '@gatehouse/runtime'

export type UnavailableReason = 'no-responders' | 'timeout' | 'disconnected'

const messages: Record<UnavailableReason, string> = {
  'no-responders': 'no process responds to the call',
  timeout: 'no response in time',
  disconnected: 'no connection to NATS',
}

/** No responder, no response in time, or no connection. Contract: 1. */
export class BusUnavailable extends Unavailable {
  override readonly name = 'BusUnavailable'
  readonly reason: UnavailableReason

  constructor(reason: UnavailableReason, cause?: unknown) {
    super(`Bus unavailable: ${messages[reason]}`, cause === undefined ? {} : { cause })
    this.reason = reason
  }
}
