import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { signatureWindowMs } from '../policy.ts'

/** `timestamp` in milliseconds, `signature` as 64 lower-case hex digits. */
export type Signature = { timestamp: number; nonce: string; signature: string }

/** What a signed request says of its sender. protocol.md 1.2. */
export type SignedHeaders = Signature & { origin: string }

type Headers = Record<string, string | string[] | undefined>
type Unsigned = { secret: string; body: string | Buffer; timestamp: number; nonce: string }

const signatureHeaders = ['origin', 'timestamp', 'nonce', 'signature'].map((name) => `x-federation-${name}`)
const originPattern = /^https?:\/\/[^\s/?#@\\]{1,300}\/?$/i
const timestampPattern = /^[1-9]\d{0,14}$/
const signaturePattern = /^sha256=([0-9a-fA-F]{64})$/
const bareHostPattern = /^[^\s/?#@\\]+$/
const noncePattern = /^[\s\S]{1,64}$/

/** `body` must be the exact bytes that are sent; `timestamp` in milliseconds. Contract: 7, signatures. */
export function signBody({ origin, ...unsigned }: Unsigned & { origin: string }): Record<string, string> {
  return { 'X-Federation-Origin': origin, ...signAnswer(unsigned) }
}

/** Without the origin. protocol.md 1.3. */
export function signAnswer({ secret, body, timestamp, nonce }: Unsigned): Record<string, string> {
  return {
    'X-Federation-Timestamp': String(timestamp),
    'X-Federation-Nonce': nonce,
    'X-Federation-Signature': `sha256=${digest(secret, timestamp, nonce, body).toString('hex')}`,
  }
}

/** Needs lower-case names. Undefined: missing or malformed. Contract: 7, refused requests. */
export function readSignedHeaders(headers: Headers): SignedHeaders | undefined {
  const origin = normalizeSignedOrigin(headers['x-federation-origin'])
  const signature = readSignature(headers)
  return origin && signature ? { origin, ...signature } : undefined
}

/** A nonce is at most 64 characters and not blank. */
export function readSignature(headers: Headers): Signature | undefined {
  const timestamp = readMatch(timestampPattern, headers['x-federation-timestamp'])?.[0]
  const nonce = readMatch(noncePattern, headers['x-federation-nonce'])?.[0]
  const signature = readMatch(signaturePattern, headers['x-federation-signature'])?.[1]
  if (!timestamp || !nonce || !signature) return undefined
  return { timestamp: Number(timestamp), nonce, signature: signature.toLowerCase() }
}

/** In constant time; `now` in milliseconds. `stale`: only the clock is wrong. Contract: 7, refused requests. */
export function verifySignature(input: {
  secrets: readonly string[]
  body: Buffer
  signed: Signature
  now: number
}): { verdict: 'ok' | 'stale'; secret: string } | { verdict: 'bad' } {
  const { timestamp, nonce, signature } = input.signed
  const received = Buffer.from(signature, 'hex')
  const secret = input.secrets.find((one) => isEqual(received, digest(one, timestamp, nonce, input.body)))
  if (secret === undefined) return { verdict: 'bad' }
  return { verdict: Math.abs(input.now - timestamp) <= signatureWindowMs ? 'ok' : 'stale', secret }
}

/** In constant time. */
export function isSameSecret(one: string, other: string): boolean {
  return isEqual(createHash('sha256').update(one).digest(), createHash('sha256').update(other).digest())
}

export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

/** Undefined for any spelling but the normal one. */
export function normalizeSignedOrigin(value: string | string[] | undefined): string | undefined {
  const text = readMatch(originPattern, value)?.[0]
  return text !== undefined && URL.canParse(text) ? new URL(text).origin : undefined
}

/** The epoch endpoint answers 400 to missing headers, and 401 to wrong ones. Contract: 7, epoch. */
export function lacksSignature(headers: Headers): boolean {
  return signatureHeaders.some((name) => headers[name] === undefined)
}

/** Lower case, without port. Other text is only lowered: it equals no host. Contract: 7, refused requests. */
export function hostOf(origin: string): string {
  const url = originPattern.test(origin) ? origin : `http://${origin}`
  const isReadable = (originPattern.test(origin) || bareHostPattern.test(origin)) && URL.canParse(url)
  return isReadable ? new URL(url).hostname : origin.toLowerCase()
}

function readMatch(pattern: RegExp, value: string | string[] | undefined): RegExpExecArray | undefined {
  return (typeof value === 'string' && pattern.exec(value.trim())) || undefined
}

function isEqual(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}

/** The key is the secret's text, not the bytes it may encode. */
function digest(secret: string, timestamp: number, nonce: string, body: string | Buffer): Buffer {
  return createHmac('sha256', secret).update(`${timestamp}.${nonce}.`).update(body).digest()
}
