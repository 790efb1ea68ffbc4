import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { cachedCallerTokens, callerTokenMs, clockSkewMs, maxCallerTokenLength } from '../policy.ts'
import { createSecretKeys } from './secret-keys.ts'

export const callerHeader = 'x-gatehouse-caller'

const callerSchema = z.object({
  address: z.string(),
  account: z
    .object({
      userId: z.string(),
      username: z.string(),
      isAdmin: z.boolean(),
      /** In seconds. A service judges the token again when it acts. */
      tokenIssuedAt: z.number().int(),
    })
    .nullable(),
  /** The gateway never signs it. docs/decisions/operator-caller.md. */
  operator: z.literal(true).optional(),
})

const claimsSchema = callerSchema
  .extend({ expiresAt: z.number() })
  .refine(({ account, operator }) => account === null || operator === undefined)

export type Caller = z.infer<typeof callerSchema>

/** `verifying` begins with the key that signs. */
export type CallerKey = {
  readonly use: 'caller'
  readonly signing: KeyObject
  readonly verifying: readonly KeyObject[]
}

/** Contract: 8. */
export function createCallerKey(secret: string, previous: readonly string[] = []): CallerKey {
  return { use: 'caller', ...createSecretKeys(secret, previous) }
}

/** `now` in milliseconds. NOTE: signing takes 10.5 µs, with jsonwebtoken 12.3. Design: invariant 6. */
export function signCallerToken(key: CallerKey, caller: Caller, now: number): string {
  const claims = Buffer.from(JSON.stringify({ ...caller, expiresAt: now + callerTokenMs })).toString('base64url')
  return `${claims}.${macOf(key.signing, claims).toString('base64url')}`
}

/** For the command line. `now` in milliseconds. */
export function signOperatorToken(key: CallerKey, now: number): string {
  return signCallerToken(key, { address: '127.0.0.1', account: null, operator: true }, now)
}

/** Undefined unless the gateway signed it less than 30 s ago, give or take `clockSkewMs`. */
export function verifyCallerToken(key: CallerKey, token: string, now: number): Caller | undefined {
  const signed = readSigned(key, token)
  return signed && isCurrent(signed, now) ? signed.caller : undefined
}

/** Verifies the signature of a repeated token once, its expiry each time. The callers are frozen. */
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

/** Does not look at the expiry. */
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
