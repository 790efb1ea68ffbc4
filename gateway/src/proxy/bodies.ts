import type { IncomingMessage } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import { invalidInput, refuse, type Quota } from '@gatehouse/runtime'
import type { Dispatcher } from 'undici'
import type { Deps } from '../deps.ts'
import type { RequestContext } from '../http/request-context.ts'
import { policy } from '../policy.ts'
import type { RouteTarget } from './routes.ts'

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

async function bufferBody(request: IncomingMessage, maxBytes: number, hold: (size: number) => boolean) {
  return await new Promise<Buffer>((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const incomplete = (cause?: unknown): void =>
      reject(invalidInput({ field: 'body', reason: 'malformed' }, { text: 'The request ended too early', cause }))
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= maxBytes && hold(size)) return void chunks.push(chunk)
      request.pause()
      reject(size > maxBytes ? refuse.body_too_large() : refuse.too_many_uploads())
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

/** Reads ahead of a slow client, up to 1 MiB. A client that is too slow is cut off. */
export class ResponseBuffer {
  readonly #deps: Pick<Deps, 'timeouts' | 'capacity'>
  readonly #context: RequestContext
  readonly #budget: Quota
  #bytes = 0
  #paused: Dispatcher.DispatchController | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(deps: Pick<Deps, 'timeouts' | 'capacity'>, context: RequestContext, budget: Quota) {
    this.#deps = deps
    this.#context = context
    this.#budget = budget
    context.response.on('drain', this.#release)
    context.response.once('close', this.#release)
  }

  /** Called when the client has not read earlier bytes. */
  hold(controller: Dispatcher.DispatchController, bytes: number): void {
    const { response, network } = this.#context
    if (!this.#budget.take(network, bytes)) return void response.destroy()
    this.#bytes += bytes
    const isFull = this.#budget.total() >= this.#deps.capacity.bufferedBytes
    if (this.#paused || (this.#bytes <= policy.bufferedBytes && !isFull)) return
    this.#paused = controller
    controller.pause()
    this.#cutAfter(this.#deps.timeouts.bodyMs)
  }

  end(): void {
    if (this.#bytes > 0) this.#cutAfter(this.#deps.timeouts.clientReadMs)
  }

  #cutAfter(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#context.response.destroy(), ms)
  }

  #release = (): void => {
    clearTimeout(this.#timer)
    if (this.#bytes > 0) this.#budget.release(this.#context.network, this.#bytes)
    this.#bytes = 0
    const controller = this.#paused
    this.#paused = undefined
    controller?.resume()
  }
}
