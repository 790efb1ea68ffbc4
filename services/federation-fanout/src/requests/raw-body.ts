import { limits } from '@gatehouse/contracts'
import { invalidInput, refuse } from '@gatehouse/runtime'
import { asObject, parseJson } from '@gatehouse/service-kit'
import type { Context } from 'koa'
import { policy } from '../policy.ts'

export type BodyPace = { graceMs: number; bytesPerSecond: number; totalMs: number }

export type BodyReading = {
  maxBytes?: number
  pace?: BodyPace
  /** Called once when more than `smallBytes` have come. It may refuse the rest. */
  enlarge?: () => Promise<void>
  smallBytes?: number
}

/** Throws body_too_large, unsupported_media_type, body_too_slow, invalid_input, and as `enlarge` does. */
export async function readRawBody(ctx: Context, reading: BodyReading = {}): Promise<Buffer> {
  const { maxBytes = limits.jsonBodyBytes } = reading
  const announced = Number(ctx.get('content-length'))
  if (!(announced > 0) && ctx.get('transfer-encoding') === '') return Buffer.alloc(0)
  // A peer may sign bytes without naming a type.
  if (ctx.get('content-type') !== '' && !ctx.is('json')) throw refuse.json_required()
  if (!['', 'identity'].includes(ctx.get('content-encoding').toLowerCase())) throw refuse.body_encoded()
  if (announced > maxBytes) throw refuse.body_too_large()
  return await collect(ctx, { ...reading, maxBytes })
}

/** Each event is judged alone: one unreadable text does not refuse the others. */
export function parseBatch(body: Buffer): Record<string, unknown> {
  const value = parseJson(body, { values: policy.relayValuesMax })
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw invalidInput({ field: 'body', reason: 'wrong_type' }, { text: 'The body must be a JSON object' })
}

/** An empty body is an empty object. Throws invalid_input. */
export function parseBody(body: Buffer): Record<string, unknown> {
  return asObject(body.length === 0 ? {} : parseJson(body))
}

async function collect(ctx: Context, reading: BodyReading & { maxBytes: number }): Promise<Buffer> {
  const { maxBytes, pace, smallBytes = maxBytes, enlarge } = reading
  const chunks: Buffer[] = []
  let length = 0
  let isLarge = false
  const startedAt = performance.now()
  // The refusal needs the same connection.
  const body = ctx.req.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>
  for (;;) {
    const chunk = await nextChunk(body, pace && timeLeft(pace, length, performance.now() - startedAt))
    if (chunk === 'late') {
      void body.return?.()
      throw refuse.body_too_slow({ headers: { Connection: 'close' } })
    }
    if (chunk === undefined) return Buffer.concat(chunks)
    length += chunk.length
    try {
      if (length > maxBytes) throw refuse.body_too_large()
      if (length > smallBytes && !isLarge) await enlarge?.()
      isLarge = length > smallBytes
    } catch (refusal) {
      await body.return?.()
      ctx.req.resume() // keeps the connection usable
      throw refusal
    }
    chunks.push(chunk)
  }
}

function timeLeft({ graceMs, bytesPerSecond, totalMs }: BodyPace, received: number, elapsedMs: number): number {
  return Math.max(0, Math.min(totalMs, graceMs + (received / bytesPerSecond) * 1_000) - elapsedMs)
}

async function nextChunk(body: AsyncIterator<Buffer>, ms: number | undefined): Promise<Buffer | 'late' | undefined> {
  let timer: NodeJS.Timeout | undefined
  const next = body.next().then(({ done, value }) => (done ? undefined : value))
  const late = new Promise<'late'>((resolve) => {
    if (ms !== undefined) timer = setTimeout(resolve, ms, 'late')
  })
  try {
    return await Promise.race([next, late])
  } catch (cause) {
    throw invalidInput({ field: 'body', reason: 'malformed' }, { text: 'The body ended early', cause })
  } finally {
    clearTimeout(timer)
  }
}
