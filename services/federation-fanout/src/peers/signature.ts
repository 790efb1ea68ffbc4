import { createHmac, timingSafeEqual } from 'node:crypto'

/** How far a signature's timestamp may be from our clock, either side, in milliseconds. Contract: 7. */
export const signatureWindowMs = 15 * 60 * 1000

/** What a signed message says of itself: `timestamp` in milliseconds, `signature` as 64 lower-case hex digits. */
export type SignedHeaders = { origin: string; timestamp: number; nonce: string; signature: string }

type Unsigned = { secret: string; origin: string; body: string | Buffer; timestamp: number; nonce: string }

const signatureHeaders = ['origin', 'timestamp', 'nonce', 'signature'].map((name) => `x-federation-${name}`)
const originPattern = /^https?:\/\/[^\s/?#@\\]{1,300}\/?$/i
const timestampPattern = /^[1-9]\d{0,14}$/
const noncePattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const signaturePattern = /^sha256=([0-9a-f]{64})$/i
const bareHostPattern = /^[^\s/?#@\\]+$/

/** The four headers for a body that is sent as exactly these bytes; `timestamp` in milliseconds. Contract: 7. */
export function signBody({ secret, origin, body, timestamp, nonce }: Unsigned): Record<string, string> {
  return {
    'X-Federation-Origin': origin,
    'X-Federation-Timestamp': String(timestamp),
    'X-Federation-Nonce': nonce,
    'X-Federation-Signature': `sha256=${digest(secret, timestamp, nonce, body).toString('hex')}`,
  }
}

/** Takes headers with lower-case names, as Node gives them. Undefined when one is missing or malformed. Contract: 7. */
export function readSignature(headers: Record<string, string | string[] | undefined>): SignedHeaders | undefined {
  const origin = normalizeSignedOrigin(headers['x-federation-origin'])
  const timestamp = readMatch(timestampPattern, headers['x-federation-timestamp'])?.[0]
  const nonce = readMatch(noncePattern, headers['x-federation-nonce'])?.[0]
  const signature = readMatch(signaturePattern, headers['x-federation-signature'])?.[1]
  if (!origin || !timestamp || !nonce || !signature) return undefined
  return { origin, timestamp: Number(timestamp), nonce, signature: signature.toLowerCase() }
}

/**
 * Checks the signature over the received bytes, in constant time, and then the age; `now` in milliseconds. `stale` is
 * returned for a right signature only, so it means a wrong clock and no foreign signer. Contract: 7.
 */
export function verifySignature(input: {
  secret: string
  body: Buffer
  signed: SignedHeaders
  now: number
}): 'ok' | 'stale' | 'bad' {
  const { timestamp, nonce, signature } = input.signed
  const expected = digest(input.secret, timestamp, nonce, input.body)
  const received = Buffer.from(signature, 'hex')
  if (received.length !== expected.length || !timingSafeEqual(received, expected)) return 'bad'
  return Math.abs(input.now - timestamp) <= signatureWindowMs ? 'ok' : 'stale'
}

/** An http or https origin in its one spelling, without a trailing slash. Undefined for anything else. */
export function normalizeSignedOrigin(value: string | string[] | undefined): string | undefined {
  const text = readMatch(originPattern, value)?.[0]
  return text !== undefined && URL.canParse(text) ? new URL(text).origin : undefined
}

/** Whether one of the four headers is not there at all. Contract: 7, epoch. */
export function lacksSignature(headers: Record<string, string | string[] | undefined>): boolean {
  return signatureHeaders.some((name) => headers[name] === undefined)
}

/**
 * The host of an origin, or of a bare host, for comparison: lower case, without port. Text that is neither is given
 * back in lower case, which equals the host of no origin. Contract: 7.
 */
export function hostOf(origin: string): string {
  const url = originPattern.test(origin) ? origin : `http://${origin}`
  const isReadable = (originPattern.test(origin) || bareHostPattern.test(origin)) && URL.canParse(url)
  return isReadable ? new URL(url).hostname : origin.toLowerCase()
}

function readMatch(pattern: RegExp, value: string | string[] | undefined): RegExpExecArray | undefined {
  return (typeof value === 'string' && pattern.exec(value)) || undefined
}

/** The key is the secret's text as it was exchanged, not the bytes that it may encode. */
function digest(secret: string, timestamp: number, nonce: string, body: string | Buffer): Buffer {
  return createHmac('sha256', secret).update(`${timestamp}.${nonce}.`).update(body).digest()
}
