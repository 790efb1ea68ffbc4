import { headers, type MsgHdrs } from 'nats'
import type { Context } from '../bus.ts'
import type { EventMessage } from '../messages.ts'

const requestIdHeader = 'X-Request-Id'
const traceparentHeader = 'traceparent'

type Incoming = { headers?: MsgHdrs | undefined; string(): string }

export function writeHeaders(options: Context): MsgHdrs {
  const written = headers()
  if (options.requestId !== undefined) written.set(requestIdHeader, options.requestId)
  if (options.traceparent !== undefined) written.set(traceparentHeader, options.traceparent)
  return written
}

export function readContext({ headers: read }: Pick<Incoming, 'headers'>) {
  const traceparent = read?.get(traceparentHeader)
  return { requestId: read?.get(requestIdHeader) || undefined, ...(traceparent && { traceparent }) }
}

export function readEventMessage(message: Incoming, deliveries: number): EventMessage {
  const id = message.headers?.get('Nats-Msg-Id') ?? ''
  return { id, json: message.string(), ...readContext(message), deliveries }
}
