import { nanos } from 'nats'
import type { Msg } from 'nats'

/** A message that JetStream delivered, with what its acknowledgement address tells about it. */
export type StoredMessage = {
  message: Msg
  /** Its place in the stream. */
  sequence: number
  /** Its place among the consumer's deliveries, from 1. */
  deliverySequence: number
  /** How often it has been delivered, this time included. */
  deliveries: number
  ack(): void
  /** Asks for it again, in `delayMs`. */
  retry(delayMs: number): void
  stillWorking(): void
}

// $JS.ACK.<stream>.<consumer>.<deliveries>.<sequence>.<delivery sequence>.<time>.<pending>, where servers from 2.10 on may
// put a domain and an account before the stream.
const SHORT_FORM = 9
const AFTER_CONSUMER = 4
const LONGER_BY = 2

export function storedMessage(message: Msg): StoredMessage {
  const tokens = (message.reply ?? '').split('.')
  const start = tokens.length === SHORT_FORM ? AFTER_CONSUMER : AFTER_CONSUMER + LONGER_BY
  const [deliveries = 1, sequence = 0, deliverySequence = 0] = tokens.slice(start).map(Number)
  return {
    message,
    sequence,
    deliverySequence,
    deliveries,
    ack: () => void message.respond('+ACK'),
    retry: (delayMs) => void message.respond(`-NAK ${JSON.stringify({ delay: nanos(delayMs) })}`),
    stillWorking: () => void message.respond('+WPI'),
  }
}
