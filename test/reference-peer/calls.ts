import type { Instance, LogEntry } from './instance.ts'
import { isFresh, isSignedWith, isTimestamp, signatureOf } from './signature.ts'

export type Call = {
  origin: string
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  body?: unknown
  /** Signs the request. */
  secret?: string
  timeoutMs: number
}

export type Answer = {
  /** 0 when no answer came. */
  status: number
  failure: 'timeout' | 'unreachable' | null
  headers: Headers
  text: string
  /** Undefined when the text is not JSON. */
  body: unknown
}

/** One request, never repeated; redirects are followed and the answer may have any length. wire: 1, outbound */
export async function call(instance: Instance, request: Call): Promise<Answer> {
  const text = request.body === undefined ? '' : JSON.stringify(request.body)
  const headers = {
    ...(request.body === undefined ? {} : { 'Content-Type': 'application/json' }),
    ...(request.secret === undefined ? {} : signedHeaders(instance, request.secret, text)),
  }
  const entry = beginLog(instance, request, { headers, body: text })
  const answer = await send(instance, request, { headers, text })
  entry.status = answer.failure ?? answer.status
  entry.answer = answer.text
  return answer
}

export function isSuccess(answer: Answer): boolean {
  return answer.status >= 200 && answer.status < 300
}

/** Signed with this secret and fresh; no origin header is asked for, a missing nonce is taken. wire: 1 */
export function isSignedAnswer(instance: Instance, answer: Answer, secret: string): boolean {
  const signature = answer.headers.get('x-federation-signature')
  const timestamp = answer.headers.get('x-federation-timestamp')
  if (!isSuccess(answer) || !signature || !timestamp || !isTimestamp(timestamp)) return false
  const nonce = answer.headers.get('x-federation-nonce') || null
  return isFresh(timestamp, instance.now()) && isSignedWith(secret, signature, { timestamp, nonce, body: answer.text })
}

function signedHeaders(instance: Instance, secret: string, body: string): Record<string, string> {
  const [timestamp, nonce] = [String(instance.now()), instance.newNonce()]
  return {
    'X-Federation-Origin': instance.origin,
    'X-Federation-Timestamp': timestamp,
    'X-Federation-Nonce': nonce,
    'X-Federation-Signature': signatureOf(secret, { timestamp, nonce, body }),
  }
}

type Outgoing = { headers: Record<string, string>; text: string }

async function send(instance: Instance, request: Call, { headers, text }: Outgoing): Promise<Answer> {
  const timeout = AbortSignal.timeout(request.timeoutMs)
  const signal = AbortSignal.any([timeout, instance.stopping.signal])
  const address = instance.addresses.get(request.origin) ?? request.origin
  try {
    const body = request.body === undefined ? {} : { body: text }
    const response = await fetch(address + request.path, { method: request.method, headers, signal, ...body })
    const answered = await response.text()
    const { status, headers: answeredHeaders } = response
    return { status, failure: null, headers: answeredHeaders, text: answered, body: parsedOrUndefined(answered) }
  } catch {
    const failure = timeout.aborted ? 'timeout' : 'unreachable'
    return { status: 0, failure, headers: new Headers(), text: '', body: undefined }
  }
}

function parsedOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

type Begun = { headers: Record<string, string>; body: string }

function beginLog(instance: Instance, { method, path, origin }: Call, { headers, body }: Begun): LogEntry {
  const at = instance.now()
  const entry: LogEntry = { direction: 'sent', at, method, path, origin, headers, body, status: 0, answer: '' }
  instance.log.push(entry)
  return entry
}
