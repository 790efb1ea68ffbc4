import { Refusal } from '@gatehouse/runtime'

export type UnavailableReason = 'no-responders' | 'timeout' | 'disconnected'

/**
 * The bus could not carry a message: nobody answers that call, no answer came in time, or there is no connection.
 * It reads as a 503 where nobody catches it. Contract: 1.
 */
export class BusUnavailable extends Refusal {
  readonly reason: UnavailableReason

  constructor(reason: UnavailableReason, cause?: unknown) {
    const definition = { status: 503, message: 'Service temporarily unavailable, please try again' }
    super('unavailable', definition, { headers: { 'Retry-After': '1' }, cause })
    this.reason = reason
  }
}
