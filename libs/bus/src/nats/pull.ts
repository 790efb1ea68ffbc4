import type { JsMsg } from 'nats'
import { pullExpiresMs } from '../policy.ts'
import type { EventStream } from './event-stream.ts'

export type Pull = { stop(): void }

type Options = {
  /** Messages fetched before they are handled. */
  prefetch: number
  receive(message: JsMsg): void
  /** Called once, when the server has no such consumer. Nothing comes after it. */
  onLost(): void
}

export async function startPull(stream: EventStream, consumer: string, options: Options): Promise<Pull> {
  const { js, name } = stream
  const bound = await js.consumers.get(name, consumer)
  const messages = await bound.consume({
    max_messages: options.prefetch,
    expires: pullExpiresMs,
    callback: (message) => {
      if (!stopped) options.receive(message)
    },
    // The client would ask for a missing consumer for ever.
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
