import { createHmac, timingSafeEqual } from 'node:crypto'

export const secretBytes = 20
const digits = 6
const stepMs = 30_000
/** Clocks and fingers are slow: one step either side. */
const skewSteps = 1

/** RFC 6238 with SHA-1. `step`: of 30 s since the epoch. */
export function codeOfStep(secret: Buffer, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const hmac = createHmac('sha1', secret).update(counter).digest()
  const offset = hmac.readUInt8(hmac.length - 1) & 0xf
  const number = (hmac.readUInt32BE(offset) & 0x7fff_ffff) % 10 ** digits
  return String(number).padStart(digits, '0')
}

/** The step whose code it is. `now` in milliseconds. */
export function findStep(secret: Buffer, code: string, now: number): number | undefined {
  const digitsOfCode = Buffer.from(code)
  if (digitsOfCode.length !== digits) return undefined
  const current = Math.floor(now / stepMs)
  const steps = [current - skewSteps, current, current + skewSteps].filter((step) => step >= 0)
  return steps.findLast((step) => timingSafeEqual(Buffer.from(codeOfStep(secret, step)), digitsOfCode))
}

/** RFC 4648, without padding. */
export function toBase32(bytes: Buffer): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')
  return bits.replace(/.{1,5}/g, (group) => alphabet.charAt(Number.parseInt(group.padEnd(5, '0'), 2)))
}
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Authenticator apps read it, also from a QR code. */
export function otpauthUri(secret: Buffer, { issuer, username }: { issuer: string; username: string }): string {
  const label = [issuer, username].map(encodeURIComponent).join(':')
  const parameters = { secret: toBase32(secret), issuer, algorithm: 'SHA1', digits: String(digits), period: '30' }
  return `otpauth://totp/${label}?${new URLSearchParams(parameters)}`
}
