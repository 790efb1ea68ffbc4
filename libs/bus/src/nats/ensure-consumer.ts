import { NatsError } from 'nats'
import type { ConsumerConfig } from 'nats'
import type { EventStream } from './event-stream.ts'

/** The name has another configuration: nats-server 2.9, then 2.10. */
const nameInUse: readonly unknown[] = [10013, 10148]

/** An existing consumer keeps its position. */
export async function ensureConsumer(
  { jsm, name }: EventStream,
  config: Partial<ConsumerConfig> & { durable_name: string },
): Promise<void> {
  try {
    await jsm.consumers.add(name, config)
  } catch (error) {
    const changed = error instanceof NatsError && nameInUse.includes(error.api_error?.err_code)
    if (!changed) throw error
    await jsm.consumers.update(name, config.durable_name, config)
  }
}
