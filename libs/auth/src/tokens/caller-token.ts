import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import { callerTokenMs, maxCallerTokenLength } from '../policy.ts'

/** The header in which the gateway tells services who is calling. */
export const callerHeader = 'x-gatehouse-caller'

const callerSchema = z.object({
  address: z.string(),
  account: z
    .object({
      userId: z.string(),
      username: z.string(),
      isAdmin: z.boolean(),
      /** The `iat` of the bearer token, in seconds: with it a service judges the token again when it acts. */
      tokenIssuedAt: z.number().int(),
    })
    .nullable(),
})

const claimsSchema = callerSchema.extend({ expiresAt: z.number() })

/** Who is calling: a client's address, and the account whose live token came with the request. */
export type Caller = z.infer<typeof callerSchema>

export type CallerKey = KeyObject

/** Makes the key once at start from INTERNAL_SECRET. */
export function createCallerKey(secret: string): CallerKey {
  return createSecretKey(Buffer.from(secret, 'utf8'))
}

/**
 * Signs the caller that the gateway has authenticated; `now` in milliseconds. Design: invariant 6.
 *
 * NOTE: an HMAC of its own and not a JWT: there is one algorithm and one issuer, and both ends do it for each request
 * (measured: 10.5 and 9.0 µs to sign and to verify, jsonwebtoken 12.3 and 11.7).
 */
export function signCallerToken(key: CallerKey, caller: Caller, now: number): string {
  const claims = Buffer.from(JSON.stringify({ ...caller, expiresAt: now + callerTokenMs })).toString('base64url')
  return `${claims}.${macOf(key, claims).toString('base64url')}`
}

/** The caller of a token that the gateway signed less than 30 s ago, else undefined. */
export function verifyCallerToken(key: CallerKey, token: string, now: number): Caller | undefined {
  const dot = token.indexOf('.')
  if (dot < 1 || token.length > maxCallerTokenLength) return undefined
  const mac = Buffer.from(token.slice(dot + 1), 'base64url')
  const expected = macOf(key, token.slice(0, dot))
  if (mac.length !== expected.length || !timingSafeEqual(mac, expected)) return undefined
  const claims = claimsSchema.safeParse(JSON.parse(Buffer.from(token.slice(0, dot), 'base64url').toString()))
  if (!claims.success || claims.data.expiresAt <= now) return undefined
  const { address, account } = claims.data
  return { address, account }
}

function macOf(key: CallerKey, claims: string): Buffer {
  return createHmac('sha256', key).update(claims).digest()
}
