import type { EventDefinition } from '@gatehouse/contracts'
import { headers } from 'nats'
import type { MsgHdrs } from 'nats'
import type { z } from 'zod'
import type { Context, Received } from '../bus.ts'

const EVENT_ID = 'Nats-Msg-Id'
const REQUEST_ID = 'X-Request-Id'

type Incoming = { headers?: MsgHdrs | undefined; string(): string }

export function writeHeaders(options: Context & { id?: string }): MsgHdrs {
  const written = headers()
  if (options.id !== undefined) written.set(EVENT_ID, options.id)
  if (options.requestId !== undefined) written.set(REQUEST_ID, options.requestId)
  return written
}

export function readContext(message: Pick<Incoming, 'headers'>): { requestId: string | undefined } {
  return { requestId: message.headers?.get(REQUEST_ID) || undefined }
}

export function readEventId(message: Pick<Incoming, 'headers'>): string {
  return message.headers?.get(EVENT_ID) ?? ''
}

/** An event as the receiver gets it. Throws when its payload does not fit the schema. */
export function readEvent<P extends z.ZodType>(
  event: EventDefinition<P>,
  message: Incoming,
  deliveries: number,
): Received<z.output<P>> {
  const payload = event.payload.parse(JSON.parse(message.string()))
  return { id: readEventId(message), payload, ...readContext(message), deliveries }
}
