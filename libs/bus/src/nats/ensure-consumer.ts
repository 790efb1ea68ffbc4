import { NatsError } from 'nats'
import type { ConsumerConfig } from 'nats'
import type { EventStream } from './event-stream.ts'

const nameInUse = 10013

/** Creates a durable consumer, or gives the one that is there this configuration; its position stays. */
export async function ensureConsumer(
  { jsm, name }: EventStream,
  config: Partial<ConsumerConfig> & { durable_name: string },
): Promise<void> {
  try {
    await jsm.consumers.add(name, config)
  } catch (error) {
    const changed = error instanceof NatsError && error.api_error?.err_code === nameInUse
    if (!changed) throw error
    await jsm.consumers.update(name, config.durable_name, config)
  }
}
