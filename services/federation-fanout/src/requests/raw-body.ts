import { limits } from '@gatehouse/contracts'
import { commonErrors } from '@gatehouse/runtime'
import { asObject } from '@gatehouse/service-kit'
import type { Context } from 'koa'

/**
 * The bytes of a body exactly as they came, at most `maxBytes`: a signature is over them. None is an empty body. Throws
 * body_too_large, unsupported_media_type, invalid_input when the client leaves before the end.
 */
export async function readRawBody(ctx: Context, maxBytes: number = limits.jsonBodyBytes): Promise<Buffer> {
  const announced = Number(ctx.get('content-length'))
  if (!(announced > 0) && ctx.get('transfer-encoding') === '') return Buffer.alloc(0)
  // A peer that names no type still signed these bytes; another type is a mistake.
  if (ctx.get('content-type') !== '' && !ctx.is('json'))
    throw commonErrors.unsupported_media_type({ message: 'Send application/json' })
  if (!['', 'identity'].includes(ctx.get('content-encoding').toLowerCase())) {
    throw commonErrors.unsupported_media_type({ message: 'Send the body without a content encoding' })
  }
  if (announced > maxBytes) throw commonErrors.body_too_large()
  return await collect(ctx, maxBytes)
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

async function collect(ctx: Context, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  try {
    // The stream has to outlive a body that is too long: the refusal goes out over the same connection.
    for await (const chunk of ctx.req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > maxBytes) break
      chunks.push(chunk)
    }
  } catch (cause) {
    throw commonErrors.invalid_input({ message: 'The body ended early', cause })
  }
  if (length > maxBytes) {
    ctx.req.resume() // what is still to come is let go, so that the connection can be used again
    throw commonErrors.body_too_large()
  }
  return Buffer.concat(chunks)
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch (cause) {
    throw commonErrors.invalid_input({ message: 'Malformed request body', cause })
  }
}
