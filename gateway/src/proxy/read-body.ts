import type { IncomingMessage } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import { invalidInput, refuse } from '@gatehouse/runtime'
import { tooManyUploads } from '../errors.ts'
import type { RequestContext } from '../http/request-context.ts'
import { policy } from '../policy.ts'
import type { RouteTarget } from './route-target.ts'

export type Body = { buffer: Buffer | null } | { stream: Readable; length: string | undefined }

export function hasBody({ headers }: IncomingMessage, { isRead }: RouteTarget): boolean {
  if (isRead) return false
  const { 'content-length': length, 'transfer-encoding': encoding } = headers
  return encoding !== undefined || (length !== undefined && length !== '0')
}

/** Contract: 1. Throws body_too_large. */
export function checkBodyLength({ request }: RequestContext, { maxBodyBytes }: RouteTarget): void {
  if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) throw refuse.body_too_large()
}

/** Buffering keeps slow clients off services and allows retries. Throws body_too_large and too_many_uploads. Contract: 1. */
export async function readBody(context: RequestContext, target: RouteTarget): Promise<Body> {
  const { request, response } = context
  if (request.headers.expect !== undefined) response.writeContinue()
  return { buffer: await bufferBody(request, { maxBytes: target.maxBodyBytes, hold: holderOf(context, target) }) }
}

/** Memory beyond a JSON body is given back when the response has ended. */
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
