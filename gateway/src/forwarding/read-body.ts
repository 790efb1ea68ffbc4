import type { IncomingMessage } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import type { Endpoint } from '@gatehouse/contracts'
import { commonErrors } from '@gatehouse/runtime'
import type { Exchange } from '../exchange.ts'
import { policy } from '../policy.ts'

/** What goes to the service: nothing, all of it, or what is still coming, with its length when the client told it. */
export type Body = { whole: Buffer | null } | { coming: Readable; length: string | undefined }

/** Whether there is a body that counts; that of a GET means nothing. */
export function hasBody({ headers }: IncomingMessage, { method }: Endpoint): boolean {
  if (method === 'GET') return false
  const { 'content-length': length, 'transfer-encoding': encoding } = headers
  return encoding !== undefined || (length !== undefined && length !== '0')
}

/**
 * Reads a JSON body whole, so that a slow client holds no service and the request can be tried again; an upload is
 * handed on as it comes. Throws body_too_large as soon as that is known. Contract: 1.
 */
export async function readBody({ request, response }: Exchange, endpoint: Endpoint): Promise<Body> {
  const { 'content-length': length } = request.headers
  const most = endpoint.body === 'multipart' ? policy.uploadBodyBytes : policy.jsonBodyBytes
  if (Number(length ?? 0) > most) throw commonErrors.body_too_large()
  if (request.headers.expect !== undefined) response.writeContinue()
  if (endpoint.body === 'multipart') return { coming: handOn(request), length }
  return { whole: await readWhole(request, most) }
}

async function readWhole(request: IncomingMessage, most: number): Promise<Buffer> {
  return await new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    let size = 0
    request.on('data', (piece: Buffer) => {
      size += piece.length
      if (size > most) {
        request.pause()
        reject(commonErrors.body_too_large())
      } else {
        pieces.push(piece)
      }
    })
    request.once('end', () => resolve(Buffer.concat(pieces, size)))
    request.once('error', reject)
    request.once('close', () => reject(commonErrors.invalid_input({ message: 'The request ended too early' })))
  })
}

/** Through a stream of our own: ending that one does not cut the client, who is still to get an answer. */
function handOn(request: IncomingMessage): Readable {
  const through = new PassThrough()
  request.pipe(through)
  request.once('error', (error) => through.destroy(error))
  request.once('close', () => {
    if (!request.complete) through.destroy(new Error('the client left'))
  })
  through.on('error', () => request.unpipe(through))
  return through
}
