import type { IncomingMessage } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import { invalidInput, refuse, type Quota } from '@gatehouse/runtime'
import type { Dispatcher } from 'undici'
import type { Deps } from '../deps.ts'
import type { RequestContext } from '../http/request-context.ts'
import type { RouteTarget } from '../http/route-target.ts'
import { policy } from '../policy.ts'

export type Body = { buffer: Buffer | null } | { stream: Readable; length: string | undefined }

const noBody: Body = { buffer: null }
export const openNoBody = (): Body => noBody

export function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers
  return encoding !== undefined || (length !== undefined && length !== '0')
}

/**
 * Resolves to the function that gives the service the body. A body that is not streamed is read first, which keeps slow
 * clients off services and allows retries. Throws body_too_large, too_many_uploads. Contract: 1, JSON bodies.
 */
export async function receiveBody(context: RequestContext, mode: RouteTarget['body']): Promise<() => Body> {
  const { request, response } = context
  const { 'content-length': length, expect } = request.headers
  if (Number(length ?? 0) > mode.maxBytes) throw refuse.body_too_large()
  const sendContinue = (): void => {
    if (expect !== undefined) response.writeContinue()
  }
  if (mode.isStreamed) {
    return () => {
      sendContinue()
      return { stream: streamBody(request), length }
    }
  }
  sendContinue()
  const body = { buffer: await bufferBody(request, mode.maxBytes, holderOf(context, mode.budget)) }
  return () => body
}

/** Memory beyond a JSON body is given back when the response has ended. */
function holderOf({ network, response }: RequestContext, budget: Quota | undefined): (size: number) => boolean {
  if (!budget) return () => true
  let heldBytes = 0
  response.once('close', () => budget.release(network, heldBytes))
  return (size) => {
    const more = size - policy.jsonBodyBytes - heldBytes
    if (more <= 0) return true
    if (!budget.take(network, more)) return false
    heldBytes += more
    return true
  }
}

async function bufferBody(request: IncomingMessage, maxBytes: number, hold: (size: number) => boolean) {
  return await new Promise<Buffer>((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    let isWhole = false
    const incomplete = (cause?: unknown): void =>
      reject(invalidInput({ field: 'body', reason: 'malformed' }, { text: 'The request ended too early', cause }))
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= maxBytes && hold(size)) return void chunks.push(chunk)
      request.pause()
      reject(size > maxBytes ? refuse.body_too_large() : refuse.too_many_uploads())
    })
    request.once('end', () => {
      isWhole = true
      resolve(Buffer.concat(chunks, size))
    })
    request.once('error', incomplete)
    // A whole one closes too, and a refusal has a stack.
    request.once('close', () => {
      if (!isWhole) incomplete()
    })
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

export type ResponseBuffer = ReturnType<typeof createResponseBuffer>
type BufferDeps = Pick<Deps, 'timeouts' | 'capacity'>

/** Reads ahead of a slow client, up to 1 MiB. A client that is too slow is cut off. */
export function createResponseBuffer({ timeouts, capacity }: BufferDeps, context: RequestContext, budget: Quota) {
  const { response, network } = context
  let heldBytes = 0
  let paused: Dispatcher.DispatchController | undefined
  let timer: NodeJS.Timeout | undefined

  const cutAfter = (ms: number): void => {
    clearTimeout(timer)
    timer = setTimeout(() => response.destroy(), ms)
  }
  const release = (): void => {
    clearTimeout(timer)
    if (heldBytes > 0) budget.release(network, heldBytes)
    heldBytes = 0
    const controller = paused
    paused = undefined
    controller?.resume()
  }
  response.on('drain', release)
  response.once('close', release)
  return {
    /** Called when the client has not read earlier bytes. */
    hold: (controller: Dispatcher.DispatchController, bytes: number): void => {
      if (!budget.take(network, bytes)) return void response.destroy()
      heldBytes += bytes
      const isFull = budget.total() >= capacity.bufferedBytes
      if (paused || (heldBytes <= policy.bufferedBytes && !isFull)) return
      paused = controller
      controller.pause()
      cutAfter(timeouts.bodyMs)
    },
    end: (): void => void (heldBytes > 0 && cutAfter(timeouts.clientReadMs)),
  }
}
