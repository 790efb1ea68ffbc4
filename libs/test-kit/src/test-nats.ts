import { connect } from 'nats'
import { randomName } from './random-name.ts'
import { runNats } from './run-servers.ts'

/**
 * The NATS of the run, with a random prefix for subjects, streams and buckets (letters, digits, underscores). Dispose
 * deletes every stream whose name or subjects contain it.
 */
export async function testNats(): Promise<AsyncDisposable & { url: string; prefix: string }> {
  const url = await runNats()
  const prefix = randomName()
  return { url, prefix, [Symbol.asyncDispose]: () => removeStreams(url, prefix) }
}

async function removeStreams(url: string, prefix: string): Promise<void> {
  const connection = await connect({ servers: url })
  try {
    const { streams } = await connection.jetstreamManager()
    const configs = []
    for await (const { config } of streams.list()) configs.push(config)
    const own = configs.filter(({ name, subjects }) =>
      [name, ...((subjects as string[] | undefined) ?? [])].some((text) => text.includes(prefix)),
    )
    for (const { name } of own) await streams.delete(name)
  } finally {
    await connection.close()
  }
}
