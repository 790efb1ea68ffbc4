import type { IncomingMessage } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import { commonErrors } from '@gatehouse/runtime'
import { tooManyUploads } from '../errors.ts'
import type { RequestContext } from '../http/request-context.ts'
import { policy } from '../policy.ts'
import type { RouteTarget } from './route-target.ts'

/** The body for the service: buffered, or streamed with its length when the client declared it. */
export type Body = { buffer: Buffer | null } | { stream: Readable; length: string | undefined }

/** Whether there is a body to forward; that of a read has no meaning. */
export function hasBody({ headers }: IncomingMessage, { isRead }: RouteTarget): boolean {
  if (isRead) return false
  const { 'content-length': length, 'transfer-encoding': encoding } = headers
  return encoding !== undefined || (length !== undefined && length !== '0')
}

/** Throws body_too_large for a body whose declared length is too large. Contract: 1. */
export function checkBodyLength({ request }: RequestContext, { maxBodyBytes }: RouteTarget): void {
  if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) throw commonErrors.body_too_large()
}

/**
 * Buffers a body, so that a slow client occupies no service and the request can be retried. Throws body_too_large as soon
 * as that is known, and too_many_uploads when large bodies take all the memory that they may. Contract: 1.
 */
export async function readBody(context: RequestContext, target: RouteTarget): Promise<Body> {
  const { request, response } = context
  if (request.headers.expect !== undefined) response.writeContinue()
  return { buffer: await bufferBody(request, { maxBytes: target.maxBodyBytes, hold: holderOf(context, target) }) }
}

/** Takes the memory of what a body has beyond a JSON body; it is given back when the response has ended. */
function holderOf({ network, response }: RequestContext, { bodyBudget }: RouteTarget): (size: number) => boolean {
  if (!bodyBudget) return () => true
  let held = 0
  response.once('close', () => bodyBudget.release(network, held))
  return (size) => {
    const more = size - policy.jsonBodyBytes - held
    if (more <= 0) return true
    if (bodyBudget.isFull() || !bodyBudget.take(network, more)) return false
    held += more
    return true
  }
}

/** An upload, or the batch of a peer, is streamed: it is too large to keep many of. */
export function openUpload({ request, response }: RequestContext): Body {
  if (request.headers.expect !== undefined) response.writeContinue()
  return { stream: streamBody(request), length: request.headers['content-length'] }
}

type BufferLimits = { maxBytes: number; hold: (size: number) => boolean }

async function bufferBody(request: IncomingMessage, { maxBytes, hold }: BufferLimits): Promise<Buffer> {
  return await new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const incomplete = (cause?: unknown): void =>
      reject(commonErrors.invalid_input({ message: 'The request ended too early', cause }))
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBytes || !hold(size)) {
        request.pause()
        reject(size > maxBytes ? commonErrors.body_too_large() : tooManyUploads())
      } else {
        chunks.push(chunk)
      }
    })
    request.once('end', () => resolve(Buffer.concat(chunks, size)))
    request.once('error', incomplete)
    request.once('close', incomplete)
  })
}

/** Pipes through a stream of its own: undici may destroy that one without closing the client's connection. */
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
