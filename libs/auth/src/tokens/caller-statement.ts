import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto'

/** The header in which the gateway tells services who is calling. */
export const callerHeader = 'x-gatehouse-caller'

/** Who is calling: a client's address, and the account whose live token came with the request. */
export type Caller = { address: string; account: { userId: string; username: string; isAdmin: boolean } | null }

export type CallerKey = KeyObject

/** How long a statement counts, in milliseconds: enough for a slow hop, too short to keep. */
const lifetimeMs = 30_000

/** Makes the key once at start from INTERNAL_SECRET. */
export function createCallerKey(secret: string): CallerKey {
  return createSecretKey(Buffer.from(secret, 'utf8'))
}

/** What the gateway vouches for, signed; `now` in milliseconds. Design: invariant 6. */
export function signCaller(key: CallerKey, caller: Caller, now: number): string {
  const statement = Buffer.from(JSON.stringify({ ...caller, expiresAt: now + lifetimeMs })).toString('base64url')
  return `${statement}.${macOf(key, statement).toString('base64url')}`
}

/** The caller of a statement that the gateway signed less than 30 s ago, else undefined. */
export function verifyCaller(key: CallerKey, text: string, now: number): Caller | undefined {
  const dot = text.indexOf('.')
  if (dot < 1 || text.length > 4096) return undefined
  const mac = Buffer.from(text.slice(dot + 1), 'base64url')
  const expected = macOf(key, text.slice(0, dot))
  if (mac.length !== expected.length || !timingSafeEqual(mac, expected)) return undefined
  const { expiresAt, ...caller } = JSON.parse(Buffer.from(text.slice(0, dot), 'base64url').toString()) as Caller & {
    expiresAt: number
  }
  return expiresAt > now ? caller : undefined
}

function macOf(key: CallerKey, statement: string): Buffer {
  return createHmac('sha256', key).update(statement).digest()
}
