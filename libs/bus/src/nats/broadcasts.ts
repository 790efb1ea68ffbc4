import type { EventDefinition } from '@gatehouse/contracts'
import type { z } from 'zod'
import type { Context, Subscription } from '../bus.ts'
import type { MessageHandler } from '../event-message.ts'
import type { EventStream } from './event-stream.ts'
import { readEventMessage, writeHeaders } from './message.ts'

export function broadcast<P extends z.ZodType>(
  { connection, subjectOf }: EventStream,
  event: EventDefinition<P>,
  payload: z.input<P>,
  options: Context & { to?: string | undefined },
): void {
  const json = JSON.stringify(event.payload.parse(payload))
  // The client would queue it in memory without bound.
  if (!connection.isUp()) return
  const { requestId, to } = options
  // Headers are slow in small messages.
  const send = requestId === undefined ? undefined : { headers: writeHeaders({ requestId }) }
  connection.nc.publish(subjectOf(broadcastSubject(event.subject, to)), json, send)
}

export async function receiveBroadcasts(
  { connection, log, subjectOf }: EventStream,
  { event, as, handle }: { event: string; as: string | undefined; handle: MessageHandler },
): Promise<Subscription> {
  let work = Promise.resolve()
  const subscription = connection.nc.subscribe(subjectOf(broadcastSubject(event, as)), {
    callback: (error, message) => {
      if (error) return log.error({ err: error, event }, 'NATS subscription refused')
      work = work
        .then(() => handle(readEventMessage(message, 1)))
        .catch((err: unknown) => log.error({ err, event }, 'broadcast handler failed'))
    },
  })
  await connection.announceSubscription()
  return {
    async [Symbol.asyncDispose]() {
      subscription.unsubscribe()
      await work
    },
  }
}

function broadcastSubject(event: string, name: string | undefined): string {
  // The stream stores `event.`.
  return name === undefined ? `broadcast.${event}` : `broadcast-to.${name}.${event}`
}
