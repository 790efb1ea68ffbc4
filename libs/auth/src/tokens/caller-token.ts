import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { cachedCallerTokens, callerTokenMs, clockSkewMs, maxCallerTokenLength } from '../policy.ts'
import { createSecretKeys } from './secret-keys.ts'

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
  /** The operator's command line: no account. The gateway never signs it. docs/decisions/operator-caller.md. */
  operator: z.literal(true).optional(),
})

const claimsSchema = callerSchema
  .extend({ expiresAt: z.number() })
  .refine(({ account, operator }) => account === null || operator === undefined)

/** Who is calling: a client's address, and the account whose live token came with the request; or the operator. */
export type Caller = z.infer<typeof callerSchema>

/** The key that signs, and all that verify: itself first, then the previous ones of a rotation. */
export type CallerKey = {
  readonly use: 'caller'
  readonly signing: KeyObject
  readonly verifying: readonly KeyObject[]
}

/** Makes the key once at start from INTERNAL_SECRET and INTERNAL_SECRET_PREVIOUS. Contract: 8. */
export function createCallerKey(secret: string, previous: readonly string[] = []): CallerKey {
  return { use: 'caller', ...createSecretKeys(secret, previous) }
}

/**
 * Signs the caller that the gateway has authenticated; `now` in milliseconds. Design: invariant 6.
 *
 * NOTE: an HMAC of its own and not a JWT: there is one algorithm and one issuer, and both ends do it for each request
 * (measured: 10.5 and 9.0 µs to sign and to verify, jsonwebtoken 12.3 and 11.7).
 */
export function signCallerToken(key: CallerKey, caller: Caller, now: number): string {
  const claims = Buffer.from(JSON.stringify({ ...caller, expiresAt: now + callerTokenMs })).toString('base64url')
  return `${claims}.${macOf(key.signing, claims).toString('base64url')}`
}

/** Signs the operator as the caller: for the command line, which needs INTERNAL_SECRET. `now` in milliseconds. */
export function signOperatorToken(key: CallerKey, now: number): string {
  return signCallerToken(key, { address: '127.0.0.1', account: null, operator: true }, now)
}

/** The caller of a token that the gateway signed less than 30 s ago, by clocks that may differ, else undefined. */
export function verifyCallerToken(key: CallerKey, token: string, now: number): Caller | undefined {
  const signed = readSigned(key, token)
  return signed && isCurrent(signed, now) ? signed.caller : undefined
}

/**
 * As `verifyCallerToken`, for a process that gets the same token with many requests: the signature is verified once, the
 * expiry each time. The callers that it gives cannot be changed.
 */
export function createCallerVerifier(key: CallerKey): (token: string, now: number) => Caller | undefined {
  const verified = new LRUCache<string, SignedCaller>({ max: cachedCallerTokens })
  return (token, now) => {
    const known = verified.get(token)
    const signed = known ?? readSigned(key, token)
    if (!signed || !isCurrent(signed, now)) return undefined
    if (!known) verified.set(token, signed)
    return signed.caller
  }
}

type SignedCaller = { caller: Caller; expiresAt: number }

function isCurrent({ expiresAt }: SignedCaller, now: number): boolean {
  return expiresAt + clockSkewMs > now
}

/** What was signed, expired or not; undefined when it was not signed with the key. */
function readSigned(key: CallerKey, token: string): SignedCaller | undefined {
  const dot = token.indexOf('.')
  if (dot < 1 || token.length > maxCallerTokenLength) return undefined
  const mac = Buffer.from(token.slice(dot + 1), 'base64url')
  if (!key.verifying.some((verifying) => isEqual(mac, macOf(verifying, token.slice(0, dot))))) return undefined
  const claims = claimsSchema.safeParse(JSON.parse(Buffer.from(token.slice(0, dot), 'base64url').toString()))
  if (!claims.success) return undefined
  const { address, account, operator, expiresAt } = claims.data
  const caller = operator ? { address, account, operator } : { address, account: Object.freeze(account) }
  return { caller: Object.freeze(caller), expiresAt }
}

function isEqual(mac: Buffer, expected: Buffer): boolean {
  return mac.length === expected.length && timingSafeEqual(mac, expected)
}

function macOf(key: KeyObject, claims: string): Buffer {
  return createHmac('sha256', key).update(claims).digest()
}
