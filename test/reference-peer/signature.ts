import { createHmac, timingSafeEqual } from 'node:crypto'

export const signatureWindowMs = 15 * 60_000

const prefix = 'sha256='

/** What a signature covers. Method, path, host and origin are not part of it. wire: 1 */
export type SignedMessage = { timestamp: string; nonce: string | null; body: string }

export function signedText({ timestamp, nonce, body }: SignedMessage): string {
  return nonce === null ? `${timestamp}.${body}` : `${timestamp}.${nonce}.${body}`
}

/** The key is the text of the secret, not the bytes that its digits stand for. wire: 1 */
export function signatureOf(secret: string, message: SignedMessage): string {
  return prefix + createHmac('sha256', Buffer.from(secret, 'utf8')).update(signedText(message), 'utf8').digest('hex')
}

/** The prefix counts only in lower case, the digits in either. wire: 1 */
export function isSignedWith(secret: string, signature: string, message: SignedMessage): boolean {
  if (!signature.startsWith(prefix)) return false
  const actual = Buffer.from(prefix + signature.slice(prefix.length).toLowerCase(), 'utf8')
  const expected = Buffer.from(signatureOf(secret, message), 'utf8')
  return actual.length === expected.length && timingSafeEqual(actual, expected)
}

export function isFresh(timestamp: string, now: number): boolean {
  return Math.abs(now - Number(timestamp)) <= signatureWindowMs
}

export function isTimestamp(text: string): boolean {
  const value = Number(text)
  return Number.isFinite(value) && value > 0
}

/** What a receiver signs over: not the bytes that came, but the parsed body written again. wire: 1 */
export function writtenAgain(body: unknown): string {
  return body === undefined ? '' : JSON.stringify(body)
}
