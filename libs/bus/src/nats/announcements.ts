import type { EventDefinition } from '@gatehouse/contracts'
import { systemRandom } from '@gatehouse/runtime'
import type { z } from 'zod'
import type { Context, Receive, Subscription } from '../bus.ts'
import type { EventStream } from './event-stream.ts'
import { readEvent, writeHeaders } from './message.ts'

export function announceNow<P extends z.ZodType>(
  { link, subjectOf }: EventStream,
  event: EventDefinition<P>,
  payload: z.input<P>,
  options: Context & { to?: string | undefined },
): void {
  const json = JSON.stringify(event.payload.parse(payload))
  // Without a connection it would wait in memory, without bound, for one.
  if (!link.isUp()) return
  const headers = writeHeaders({ id: systemRandom.uuid(), requestId: options.requestId })
  link.nc.publish(subjectOf(announcedSubject(event, options.to)), json, { headers })
}

export async function hearAnnouncements<P extends z.ZodType>(
  { link, log, subjectOf }: EventStream,
  event: EventDefinition<P>,
  handler: Receive<P>,
  as: string | undefined,
): Promise<Subscription> {
  let work = Promise.resolve()
  const subscription = link.nc.subscribe(subjectOf(announcedSubject(event, as)), {
    callback: (error, message) => {
      if (error) return log.error({ err: error, event: event.subject }, 'NATS refused a subscription')
      work = work
        .then(() => handler(readEvent(event, message, 1)))
        .catch((fault: unknown) => log.error({ err: fault, event: event.subject }, 'a listener failed'))
    },
  })
  await link.whileUp(() => link.nc.flush())
  return {
    async [Symbol.asyncDispose]() {
      subscription.unsubscribe()
      await work
    },
  }
}

function announcedSubject(event: EventDefinition, name: string | undefined): string {
  // Outside `event.`, which the stream keeps.
  return name === undefined ? `announced.${event.subject}` : `announced-to.${name}.${event.subject}`
}
