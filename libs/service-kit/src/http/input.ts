import { rm } from 'node:fs/promises'
import { finished, type Readable } from 'node:stream'
import { createBrotliDecompress, createUnzip } from 'node:zlib'
import Bourne from '@hapi/bourne'
import { isStorableText, limits } from '@gatehouse/contracts'
import { commonErrors } from '@gatehouse/runtime'
import type { Context, Middleware } from 'koa'
import { koaBody } from 'koa-body'
import getRawBody from 'raw-body'
import type { z } from 'zod'
import { asFormRefusal } from './parser-errors.ts'

/**
 * Reads a JSON body: an object of at most 64 KiB in UTF-8; no body counts as an empty object. Every text in it can be
 * stored. Throws 400, 413 or 415. Contract: 1.
 */
export const jsonBody: Middleware = async (ctx, next) => {
  if (hasBody(ctx) && !ctx.is('json')) throw commonErrors.unsupported_media_type({ message: 'Send application/json' })
  ctx.request.body = asObject(await readJson(ctx)) as never
  await next()
}

async function readJson(ctx: Context): Promise<unknown> {
  if (!hasBody(ctx)) return {}
  const bytes = await getRawBody(decompressed(ctx), { limit: limits.jsonBodyBytes })
  if (bytes.length === 0) return {}
  try {
    // The JSON parser of koa-body would replace what is no UTF-8: two passwords could become one.
    return Bourne.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    // Its message would quote the body.
    throw commonErrors.invalid_input({ message: 'Malformed request body' })
  }
}

const decompressors = { gzip: createUnzip, deflate: createUnzip, br: createBrotliDecompress }

function decompressed(ctx: Context): Readable {
  const encoding = ctx.get('content-encoding').toLowerCase() || 'identity'
  if (encoding === 'identity') return ctx.req
  if (!Object.hasOwn(decompressors, encoding)) throw commonErrors.unsupported_media_type()
  const stream = decompressors[encoding as keyof typeof decompressors]()
  finished(ctx.req, (error) => void (error && stream.destroy(error)))
  return ctx.req.pipe(stream)
}

/** Input as its schema reads it. Throws invalid_input with the first fault, in words for a person. Contract: 1. */
export function parseInput<S extends z.ZodType>(schema: S, input: unknown): z.infer<S> {
  const parsed = schema.safeParse(input)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const message = issue?.message ?? 'Invalid input'
  const path = issue?.path.map(String) ?? []
  const [field] = path
  const named = field === undefined || message.toLowerCase().startsWith(field.toLowerCase())
  throw commonErrors.invalid_input({ message: named ? message : `${path.join('.')}: ${message}` })
}

/** A parsed JSON value that may be used as input. Throws invalid_input when it is no object or holds invalid text. */
export function asObject(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw commonErrors.invalid_input({ message: 'The body must be a JSON object' })
  }
  if (!hasStorableText(value)) {
    throw commonErrors.invalid_input({ message: 'The body contains characters that are not allowed' })
  }
  return value as Record<string, unknown>
}

/**
 * Reads a form with one file of at most `maxBytes` into `folder`; the file is in `ctx.request.files`. Throws 400, 413 or
 * 415, and then leaves nothing in the folder.
 */
export function fileForm(options: { folder: string; maxBytes: number }): Middleware {
  return async (ctx, next) => {
    if (!ctx.is('multipart')) throw commonErrors.unsupported_media_type({ message: 'Send multipart/form-data' })
    if (Number(ctx.get('content-length')) > options.maxBytes + formOverheadBytes) throw commonErrors.body_too_large()
    let files = 0
    // The parser's own limit would leave the second file behind.
    const parse = parseForm(options, () => (files += 1) === 1)
    try {
      await parse(ctx, async () => undefined)
    } catch (error) {
      throw asFormRefusal(error)
    }
    if (files > 1) {
      const received = Object.values(ctx.request.files ?? {}).flat()
      await Promise.all(received.map((file) => rm(file.filepath, { force: true })))
      throw commonErrors.invalid_input({ message: 'Send one file' })
    }
    await next()
  }
}

function parseForm({ folder, maxBytes }: { folder: string; maxBytes: number }, filter: () => boolean): Middleware {
  return koaBody({
    multipart: true,
    json: false,
    urlencoded: false,
    text: false,
    formidable: { uploadDir: folder, maxFileSize: maxBytes, maxFields: 8, maxFieldsSize: 1024, filter },
  })
}

/** The most bytes of a form beside its file. */
const formOverheadBytes = 64 * 1024

function hasBody(ctx: Context): boolean {
  return ctx.get('transfer-encoding') !== '' || Number(ctx.get('content-length')) > 0
}

/** Without recursion: the client decides on the depth. */
function hasStorableText(root: object): boolean {
  const pending: unknown[] = [root]
  while (pending.length > 0) {
    const value = pending.pop()
    if (typeof value === 'string' && !isStorableText(value)) return false
    if (typeof value === 'object' && value !== null) pending.push(...(Object.values(value) as unknown[]))
  }
  return true
}
