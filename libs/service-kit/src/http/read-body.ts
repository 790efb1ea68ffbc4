import { finished } from 'node:stream'
import { limits } from '@gatehouse/contracts'
import { invalidInput } from '@gatehouse/runtime'
import type { Context, Middleware } from 'koa'
import { HttpMethodEnum, koaBody } from 'koa-body'

// koa-body by itself reads no body of a DELETE. Its reader of multipart forms stays off: `receiveFile` reads them.
const readsNothing = { json: false, urlencoded: false, text: false, multipart: false }
const common = { ...readsNothing, parsedMethods: Object.values(HttpMethodEnum) }

/** As a text without an encoding it is given as bytes. Its own decoder and JSON parser accept too much. docs/decisions/bodies.md. */
const jsonReader = koaBody({
  ...common,
  text: true,
  textTypes: ['json'],
  encoding: '',
  textLimit: limits.jsonBodyBytes,
})

// A name with dots or brackets is a name.
const queryString = { depth: 0, allowDots: false }
const formReader = koaBody({ ...common, urlencoded: true, formLimit: limits.jsonBodyBytes, queryString })

/** Decompressed, of at most 64 KiB. Undefined if it is not announced as JSON. Throws 400, 413 or 415. Contract: 1, JSON bodies. */
export async function readJsonBytes(ctx: Context): Promise<Uint8Array | undefined> {
  return (await readBody(ctx, jsonReader)) as Uint8Array | undefined
}

/** A name that comes twice has a list. Any other body is an empty form. Throws 400, 413 or 415. */
export async function readForm(ctx: Context): Promise<Record<string, unknown>> {
  return ((await readBody(ctx, formReader)) ?? {}) as Record<string, unknown>
}

async function readBody(ctx: Context, reader: Middleware): Promise<unknown> {
  const { headers } = ctx.req
  const encoding = headers['content-encoding']
  // The names of encodings have no case for HTTP, but for koa-body.
  if (encoding !== undefined) headers['content-encoding'] = encoding.toLowerCase()
  const reading = reader(ctx, async () => undefined) as Promise<void>
  try {
    await (encoding === undefined ? reading : unlessAborted(ctx, reading))
  } catch (error) {
    // Errors of decompressors and aborted requests have no status.
    throw error instanceof Error && 'status' in error ? error : malformed(error)
  }
  return ctx.request.body
}

/** The decompressor that koa-body waits for never hears that the request was aborted. */
async function unlessAborted({ req }: Context, reading: Promise<void>): Promise<void> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const forget = finished(req, (error) => void (error && reject(error)))
  await Promise.race([reading, aborted]).finally(forget)
}

export const malformed = (cause: unknown) =>
  invalidInput({ field: 'body', reason: 'malformed' }, { text: 'Malformed request body', cause })
