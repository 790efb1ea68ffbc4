import type { Dispatcher } from 'undici'
import { OutboundFailure } from './outbound-failure.ts'

export type OutboundAnswer = { status: number; headers: Record<string, string>; body: Buffer }

/**
 * Reads a whole answer of at most `maxBytes`. Throws OutboundFailure `redirect` or `too_large`, and then ends the
 * connection instead of reading what is left.
 */
export async function readAnswer(response: Dispatcher.ResponseData, maxBytes: number): Promise<OutboundAnswer> {
  const { statusCode: status, body } = response
  const headers = joinHeaders(response.headers)
  if (status >= 300 && status <= 399) throw cut(body, new OutboundFailure('redirect', `Redirected with ${status}`))
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxBytes) throw cut(body, new OutboundFailure('too_large', `Longer than ${maxBytes} bytes`))
    chunks.push(chunk)
  }
  return { status, headers, body: Buffer.concat(chunks) }
}

function cut(body: Dispatcher.ResponseData['body'], failure: OutboundFailure): OutboundFailure {
  body.on('error', () => {}) // a destroyed body emits an error, which nothing else handles
  body.destroy()
  return failure
}

function joinHeaders(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  const joined = Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value])
  return Object.fromEntries(joined.filter(([, value]) => value !== undefined)) as Record<string, string>
}
