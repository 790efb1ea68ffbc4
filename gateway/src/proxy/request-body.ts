import type { IncomingMessage } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import { invalidInput, refuse } from '@gatehouse/runtime'
import { tooManyUploads } from '../errors.ts'
import type { RequestContext } from '../http/request-context.ts'
import { policy } from '../policy.ts'
import type { BodyMode } from './route-target.ts'

export type Body = { buffer: Buffer | null } | { stream: Readable; length: string | undefined }

const noBody: Body = { buffer: null }
export const openNoBody = (): Body => noBody

export function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers
  return encoding !== undefined || (length !== undefined && length !== '0')
}

/**
 * Resolves to the function that gives the service the body. A body that is not streamed is read first, which keeps slow
 * clients off services and allows retries. Throws body_too_large, too_many_uploads. Contract: 1.
 */
export async function receiveBody(context: RequestContext, mode: BodyMode): Promise<() => Body> {
  const { request } = context
  const { 'content-length': length } = request.headers
  if (Number(length ?? 0) > mode.maxBytes) throw refuse.body_too_large()
  if (mode.isStreamed) {
    return () => {
      sendContinue(context)
      return { stream: streamBody(request), length }
    }
  }
  sendContinue(context)
  const body = { buffer: await bufferBody(request, mode.maxBytes, holderOf(context, mode)) }
  return () => body
}

function sendContinue({ request, response }: RequestContext): void {
  if (request.headers.expect !== undefined) response.writeContinue()
}

/** Memory beyond a JSON body is given back when the response has ended. */
function holderOf({ network, response }: RequestContext, { budget }: BodyMode): (size: number) => boolean {
  if (!budget) return () => true
  let held = 0
  response.once('close', () => budget.release(network, held))
  return (size) => {
    const more = size - policy.jsonBodyBytes - held
    if (more <= 0) return true
    if (!budget.take(network, more)) return false
    held += more
    return true
  }
}

async function bufferBody(
  request: IncomingMessage,
  maxBytes: number,
  hold: (size: number) => boolean,
): Promise<Buffer> {
  return await new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const incomplete = (cause?: unknown): void =>
      reject(invalidInput({ field: 'body', reason: 'malformed' }, { text: 'The request ended too early', cause }))
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBytes || !hold(size)) {
        request.pause()
        reject(size > maxBytes ? refuse.body_too_large() : tooManyUploads())
      } else {
        chunks.push(chunk)
      }
    })
    request.once('end', () => resolve(Buffer.concat(chunks, size)))
    request.once('error', incomplete)
    request.once('close', incomplete)
  })
}

/** undici may destroy this stream but not the client's connection. */
function streamBody(request: IncomingMessage): Readable {
  const stream = new PassThrough()
  request.pipe(stream)
  request.once('error', (error) => stream.destroy(error))
  request.once('close', () => {
    if (!request.complete) stream.destroy(new Error('client closed the connection'))
  })
  stream.on('error', () => request.unpipe(stream))
  return stream
}
