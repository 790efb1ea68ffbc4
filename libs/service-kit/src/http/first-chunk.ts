import { finished, type Readable } from 'node:stream'
import type { ParameterizedContext } from 'koa'

/**
 * Waits for the first chunk of a stream, or its end. Throws what breaks the stream before: once a stream is the body of a
 * response, its error only cuts the connection. If the client leaves, the stream is destroyed.
 */
export async function untilFirstChunk({ res }: Pick<ParameterizedContext, 'res'>, stream: Readable): Promise<Readable> {
  const { promise: begun, resolve, reject } = Promise.withResolvers<void>()
  const leave = () => {
    stream.destroy()
    resolve()
  }
  // Its listeners stay: an error that nobody hears ends the process.
  finished(stream, { writable: false }, (error) => (error ? reject(error) : resolve()))
  stream.once('readable', resolve)
  res.once('close', leave)
  if (res.destroyed) leave()
  try {
    await begun
  } finally {
    stream.off('readable', resolve)
    res.off('close', leave)
  }
  return stream
}
