import type { JsMsg } from 'nats'
import { pullExpiresMs } from '../policy.ts'
import type { EventStream } from './event-stream.ts'

export type Pull = { stop(): void }

type Options = {
  /** How many messages are fetched ahead of their handling. */
  prefetch: number
  receive(message: JsMsg): void
  /** Called once when the server has no such consumer any more; nothing is received after that. */
  onLost(): void
}

/** Pulls the messages of a consumer until stopped, by the client's own `consume`, which renews its requests. */
export async function startPull(stream: EventStream, consumer: string, options: Options): Promise<Pull> {
  const { js, name } = stream
  const bound = await js.consumers.get(name, consumer)
  const messages = await bound.consume({
    max_messages: options.prefetch,
    expires: pullExpiresMs,
    callback: (message) => {
      if (!stopped) options.receive(message)
    },
    // Else it would ask for ever for a consumer that only we can create again.
    ...{ abort_on_missing_resource: true },
  })
  let stopped = false
  void messages.closed().then(() => {
    if (!stopped) options.onLost()
  })
  return {
    stop() {
      stopped = true
      void messages.close()
    },
  }
}
