import type { PlainSubjects, Subscription } from '../bus.ts'
import type { EventStream } from './event-stream.ts'
import { deleteConsumers, keepConsumers } from './pulled-consumers.ts'

export function plainSubjects(
  stream: EventStream,
  track: (opening: Promise<Subscription>) => Promise<Subscription>,
): PlainSubjects {
  const { connection, prefix } = stream
  return {
    prefix,
    async request(subject, message, { timeoutMs }) {
      const send = () => connection.nc.request(subject, message, { timeout: timeoutMs })
      return (await connection.whenConnected(send)).data
    },
    subscribe: (subject, receive) => track(subscribe(stream, subject, receive)),
    keepConsumers: (consumers) => track(keepConsumers(stream, consumers)),
    deleteConsumers: (names) => connection.whenConnected(() => deleteConsumers(stream, names)),
  }
}

async function subscribe(
  { connection, log }: EventStream,
  subject: string,
  receive: (message: Uint8Array) => void,
): Promise<Subscription> {
  const subscription = connection.nc.subscribe(subject, {
    callback: (error, message) => {
      if (error) return log.error({ err: error, subject }, 'NATS subscription refused')
      receive(message.data)
    },
  })
  await connection.announceSubscription()
  return {
    async [Symbol.asyncDispose]() {
      subscription.unsubscribe()
    },
  }
}
