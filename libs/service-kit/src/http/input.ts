import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Busboy } from '@fastify/busboy'
import Bourne from '@hapi/bourne'
import { codesOfFaults, isStorableText, limits, refusals, type FaultCode, type InputFault } from '@gatehouse/contracts'
import { invalidInput, refuse, Refusal } from '@gatehouse/runtime'
import type { Context, Middleware } from 'koa'
import type { z } from 'zod'
import { costsAtMost } from './json-cost.ts'
import { malformed, readJsonBytes } from './read-body.ts'

/** Reads a JSON object of at most 64 KiB in UTF-8. No body is `{}`. Throws 400, 413 or 415. Contract: 1, JSON bodies. */
export const jsonBody: Middleware = async (ctx, next) => {
  ctx.state['body'] = asObject(await readBody(ctx))
  await next()
}

async function readBody(ctx: Context): Promise<unknown> {
  if (ctx.get('transfer-encoding') === '' && !(Number(ctx.get('content-length')) > 0)) return {}
  const bytes = await readJsonBytes(ctx)
  if (bytes === undefined) throw refuse.json_required()
  return bytes.length === 0 ? {} : parseJson(bytes)
}

/** Drops `__proto__` keys. `values` is how many it may hold, as `costsAtMost` counts. Throws validation_failed. Contract: 1, JSON bodies. */
export function parseJson(bytes: Uint8Array, { values = bytes.length } = {}): unknown {
  if (!costsAtMost(bytes, { depth: limits.jsonDepth, values })) {
    throw invalidInput({ field: 'body', reason: 'too_large' }, { text: 'The body holds too many values, or too deep' })
  }
  try {
    return Bourne.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes), { protoAction: 'remove' })
  } catch (cause) {
    throw malformed(cause)
  }
}

/** Throws the refusal of the first fault, never with the validator's own text. Contract: 1, errors. */
export function parseInput<S extends z.ZodType>(schema: S, input: unknown): z.infer<S> {
  const parsed = schema.safeParse(input, { error: () => '', reportInput: true })
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const fault = faultOf(issue)
  const [field = ''] = fault.field.split('.')
  const text = issue?.message ?? ''
  const code = isCode(text) ? text : (codesOfFaults[`${field} ${fault.reason}`] ?? codesOfFaults[field])
  throw code ? refuse[code]({ fields: { details: fault } }) : invalidInput(fault, { text })
}

const isCode = (text: string): text is FaultCode => Object.hasOwn(refusals, text)

function faultOf(issue: z.core.$ZodIssue | undefined): InputFault {
  const field = issue?.path.map(String).join('.') || 'body'
  if (issue === undefined) return { field, reason: 'invalid' }
  if (issue.code === 'custom') return { field, reason: 'invalid', ...(issue.params as Partial<InputFault>) }
  if (issue.input === undefined) return { field, reason: 'required' }
  const isNumber = typeof issue.input === 'number'
  if (issue.code === 'too_small') {
    const min = Number(issue.minimum) + (issue.inclusive === false ? 1 : 0)
    if (min === 1 && issue.input === '') return { field, reason: 'required' }
    return { field, reason: isNumber ? 'too_small' : 'too_short', min }
  }
  if (issue.code === 'too_big')
    return { field, reason: isNumber ? 'too_large' : 'too_long', max: Number(issue.maximum) }
  return { field, reason: issue.code === 'invalid_type' ? 'wrong_type' : 'invalid' }
}

/** Throws invalid_input when the value is no object or holds text that cannot be stored. */
export function asObject(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidInput({ field: 'body', reason: 'wrong_type' }, { text: 'The body must be a JSON object' })
  }
  if (!hasStorableText(value)) {
    const text = 'The body contains characters that are not allowed'
    throw invalidInput({ field: 'body', reason: 'characters' }, { text })
  }
  return value as Record<string, unknown>
}

const formOverheadBytes = 64 * 1024
const formLimits = { files: 1, fields: 8, fieldSize: 1024, parts: 9, headerPairs: 16, headerSize: 8 * 1024 }

type ReceivedForm = AsyncDisposable & { fields: Readonly<Record<string, string>> }

/** Stores the field `file` of a form until it is disposed, and gives its others. Throws 400, 413 or 415, and then leaves no file. */
export async function receiveFile(ctx: Context, path: string, maxBytes: number): Promise<ReceivedForm> {
  if (!ctx.is('multipart/form-data')) throw refuse.form_required()
  if (Number(ctx.get('content-length')) > maxBytes + formOverheadBytes) throw refuse.body_too_large()
  const { promise: parsed, resolve, reject } = Promise.withResolvers<void>()
  const received: { file?: Readable; stored?: Promise<void> } = {}
  const fields = new Map<string, string>()
  let bytes = 0
  try {
    const most = { ...formLimits, fileSize: maxBytes }
    const form = new Busboy({ headers: { 'content-type': ctx.get('content-type') }, limits: most })
    form.on('finish', resolve).on('error', reject)
    form.on('field', (name, value) => void fields.set(name, value))
    form.on('filesLimit', () => reject(refuse.file_missing()))
    for (const event of ['fieldsLimit', 'partsLimit'] as const) form.on(event, () => reject(refuse.body_too_large()))
    form.on('file', (name, file) => {
      received.file = file.on('error', reject).once('limit', () => reject(refuse.body_too_large()))
      if (name !== 'file') return reject(refuse.file_missing())
      received.stored = pipeline(file, createWriteStream(path, { flags: 'wx', mode: 0o600 }))
      received.stored.catch(reject)
    })
    // A destroyed request could not be answered.
    for await (const chunk of ctx.req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > maxBytes + formOverheadBytes) throw refuse.body_too_large()
      // What the parser throws rejects here.
      await Promise.race([parsed, new Promise((written) => void form.write(chunk, written))])
    }
    form.end()
    await parsed
    if (!received.stored) throw refuse.file_missing()
    await received.stored
    return { fields: Object.fromEntries(fields), [Symbol.asyncDispose]: () => rm(path, { force: true }) }
  } catch (error) {
    // Without an error its pipeline would wait, and without a reader the next request of the connection.
    received.file?.destroy(error as Error)
    ctx.req.resume()
    await received.stored?.catch(() => undefined)
    await rm(path, { force: true })
    // Those of the file system are no fault of the client.
    throw error instanceof Refusal || (error instanceof Error && 'syscall' in error) ? error : malformed(error)
  }
}

/** A loop, because the client decides on the depth. */
function hasStorableText(root: object): boolean {
  const pending: unknown[] = [root]
  while (pending.length > 0) {
    const value = pending.pop()
    if (typeof value === 'string' && !isStorableText(value)) return false
    if (typeof value === 'object' && value !== null) pending.push(...(Object.values(value) as unknown[]))
  }
  return true
}

const byStatus: Partial<Record<number, () => Refusal>> = {
  400: () => invalidInput({ field: 'body', reason: 'malformed' }),
  404: () => refuse.not_found(),
  405: () => refuse.method_not_allowed(),
  413: () => refuse.body_too_large(),
  415: () => refuse.unsupported_media_type(),
}

/** Other values stay as they are. Spec: Errors; Contract: 1, errors. */
export function asRefusal(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Refusal || !('status' in error)) return error
  return byStatus[Number(error.status)]?.() ?? error
}
