import { limits } from '@gatehouse/contracts'
import { commonErrors } from '@gatehouse/runtime'
import { asObject } from '@gatehouse/service-kit'
import type { Context } from 'koa'
import { refuse } from '../errors.ts'

/** How fast a body has to come: so many bytes a second after the grace period, and the whole of it within `totalMs`. */
export type BodyPace = { graceMs: number; bytesPerSecond: number; totalMs: number }

type Reading = { maxBytes?: number | undefined; pace?: BodyPace | undefined }

/**
 * The bytes of a body exactly as they came, at most `maxBytes`: a signature is over them. None is an empty body. Throws
 * body_too_large, unsupported_media_type, body_too_slow, invalid_input when the client leaves before the end.
 */
export async function readRawBody(
  ctx: Context,
  { maxBytes = limits.jsonBodyBytes, pace }: Reading = {},
): Promise<Buffer> {
  const announced = Number(ctx.get('content-length'))
  if (!(announced > 0) && ctx.get('transfer-encoding') === '') return Buffer.alloc(0)
  // A peer that names no type still signed these bytes; another type is a mistake.
  if (ctx.get('content-type') !== '' && !ctx.is('json'))
    throw commonErrors.unsupported_media_type({ message: 'Send application/json' })
  if (!['', 'identity'].includes(ctx.get('content-encoding').toLowerCase())) {
    throw commonErrors.unsupported_media_type({ message: 'Send the body without a content encoding' })
  }
  if (announced > maxBytes) throw commonErrors.body_too_large()
  return await collect(ctx, maxBytes, pace)
}

/** The same for a batch of events: each is judged by itself, so that one unreadable text does not refuse the others. */
export function parseBatch(body: Buffer): Record<string, unknown> {
  const value = parseJson(body)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw commonErrors.invalid_input({ message: 'The body must be a JSON object' })
}

/** The input in a body's bytes: a JSON object in UTF-8; an empty body is an empty object. Throws invalid_input. */
export function parseBody(body: Buffer): Record<string, unknown> {
  return asObject(body.length === 0 ? {} : parseJson(body))
}

async function collect(ctx: Context, maxBytes: number, pace: BodyPace | undefined): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  const startedAt = performance.now()
  // The stream has to outlive a body that is refused: the refusal goes out over the same connection.
  const body = ctx.req.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>
  for (;;) {
    const chunk = await nextChunk(body, pace && timeLeft(pace, length, performance.now() - startedAt))
    if (chunk === 'late') {
      void body.return?.()
      throw refuse.body_too_slow({ headers: { Connection: 'close' } })
    }
    if (chunk === undefined) return Buffer.concat(chunks)
    length += chunk.length
    if (length > maxBytes) {
      await body.return?.()
      ctx.req.resume() // what is still to come is let go, so that the connection can be used again
      throw commonErrors.body_too_large()
    }
    chunks.push(chunk)
  }
}

/** Milliseconds until the next bytes have to be there. */
function timeLeft({ graceMs, bytesPerSecond, totalMs }: BodyPace, received: number, elapsedMs: number): number {
  return Math.max(0, Math.min(totalMs, graceMs + (received / bytesPerSecond) * 1_000) - elapsedMs)
}

/** Undefined at the end of the body. */
async function nextChunk(body: AsyncIterator<Buffer>, ms: number | undefined): Promise<Buffer | 'late' | undefined> {
  let timer: NodeJS.Timeout | undefined
  const next = body.next().then(({ done, value }) => (done ? undefined : value))
  const late = new Promise<'late'>((resolve) => {
    if (ms !== undefined) timer = setTimeout(resolve, ms, 'late')
  })
  try {
    return await Promise.race([next, late])
  } catch (cause) {
    throw commonErrors.invalid_input({ message: 'The body ended early', cause })
  } finally {
    clearTimeout(timer)
  }
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch (cause) {
    throw commonErrors.invalid_input({ message: 'Malformed request body', cause })
  }
}
