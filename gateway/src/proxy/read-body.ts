import type { IncomingMessage } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import type { Endpoint } from '@gatehouse/contracts'
import { commonErrors } from '@gatehouse/runtime'
import { isRelay, relayBodyBytes } from '../http/relay-bodies.ts'
import type { RequestContext } from '../http/request-context.ts'
import { policy } from '../policy.ts'

/** The body for the service: buffered, or streamed with its length when the client declared it. */
export type Body = { buffer: Buffer | null } | { stream: Readable; length: string | undefined }

/** Whether there is a body to forward; that of a GET has no meaning. */
export function hasBody({ headers }: IncomingMessage, { method }: Endpoint): boolean {
  if (method === 'GET') return false
  const { 'content-length': length, 'transfer-encoding': encoding } = headers
  return encoding !== undefined || (length !== undefined && length !== '0')
}

/** Throws body_too_large for a body whose declared length is too large. Contract: 1. */
export function checkBodyLength({ request }: RequestContext, endpoint: Endpoint): void {
  if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes(endpoint)) throw commonErrors.body_too_large()
}

function maxBodyBytes(endpoint: Endpoint): number {
  if (endpoint.body === 'multipart') return policy.uploadBodyBytes
  return isRelay(endpoint) ? relayBodyBytes : policy.jsonBodyBytes
}

/**
 * Buffers a JSON body, so that a slow client occupies no service and the request can be retried. Throws body_too_large as
 * soon as that is known. Contract: 1.
 */
export async function readBody({ request, response }: RequestContext): Promise<Body> {
  if (request.headers.expect !== undefined) response.writeContinue()
  return { buffer: await bufferBody(request, policy.jsonBodyBytes) }
}

/** An upload, or the batch of a peer, is streamed: it is too large to keep many of. */
export function openUpload({ request, response }: RequestContext): Body {
  if (request.headers.expect !== undefined) response.writeContinue()
  return { stream: streamBody(request), length: request.headers['content-length'] }
}

async function bufferBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return await new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const incomplete = (cause?: unknown): void =>
      reject(commonErrors.invalid_input({ message: 'The request ended too early', cause }))
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBytes) {
        request.pause()
        reject(commonErrors.body_too_large())
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
