import { verify } from 'node:crypto'
import { upstreamLimits } from '@gatehouse/contracts'
import { entryLimit } from '@gatehouse/runtime'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { cachedCallerTokens, clockSkewMs, maxCallerTokenLength } from '../policy.ts'
import { encode, readCallerKey, signJws, type SigningKeys } from './signing-keys.ts'

/** `tokenIssuedAt` is in seconds. A service judges the token again when it acts. */
type CallerAccount = { userId: string; username: string; isAdmin: boolean; tokenIssuedAt: number }

/** An upstream by its own key. `rights` are those of the file now. A later release may name others. */
export type AskingUpstream = { name: string; rights: readonly string[] }

export type Caller = {
  address: string
  account: CallerAccount | null
  /** By the operator's key. docs/decisions/caller-identity.md. */
  operator?: true
  /** Opens the endpoints of upstreams alone. Contract: 3, upstreams. */
  upstream?: AskingUpstream
}

export const callerHeader = 'x-gatehouse-caller'

/** Upstreams are not told when the token was issued. */
type SignableCaller = Pick<Caller, 'address' | 'upstream'> & {
  account: (Omit<CallerAccount, 'tokenIssuedAt'> & { tokenIssuedAt?: number | undefined }) | null
}

/** `audience` is the service's or the upstream's name; `now` in milliseconds. */
type Options = { issuer: string; audience: string; now: number }

/** The caller token of a service and the statement to an upstream. NOTE: jose takes 105 µs, this 45. Contract: 8, settings, GATEHOUSE_UPSTREAMS; docs/integrate/http-requests.md. */
export function signCaller(
  keys: SigningKeys,
  { address, account, upstream }: SignableCaller,
  options: Options,
): string {
  const ofUpstream = upstream && { upstream }
  if (!account) return signClaims(keys, { address, ...ofUpstream }, options)
  const { userId: sub, username, isAdmin: admin, tokenIssuedAt: auth_time } = account
  return signClaims(keys, { address, sub, username, admin, auth_time, ...ofUpstream }, options)
}

/** For the command line. `now` in milliseconds. */
export function signOperator(keys: SigningKeys, options: Omit<Options, 'issuer'>): string {
  return signClaims(keys, { address: '127.0.0.1' }, { issuer: 'operator', ...options })
}

function signClaims({ signing }: SigningKeys, claims: object, { issuer, audience, now }: Options): string {
  const iat = Math.floor(now / 1000)
  const times = { iss: issuer, aud: audience, iat, exp: iat + upstreamLimits.statementSeconds }
  return signJws(headerOf(signing.kid), { ...times, ...claims }, signing.key)
}

const headerOf = (kid: string): string => encode({ alg: 'EdDSA', typ: 'JWT', kid })

/** The lines of CALLER_KEYS. */
export type CallerKeys = { readonly lines: readonly string[] }
export type CallerVerifier = (token: string, now: number) => Caller | undefined
type SignedCaller = { caller: Caller; expiresAt: number }

/**
 * Undefined unless it was signed for this audience less than 30 s ago, give or take `clockSkewMs`. The signature of a
 * repeated token is verified once, its expiry each time. The callers are frozen. Throws for a line that is no key.
 */
export function createCallerVerifier({ lines }: CallerKeys, audience: string): CallerVerifier {
  const verified = new LRUCache<string, SignedCaller>(entryLimit(cachedCallerTokens))
  const readSigned = createReader(lines, audience)
  return (token, now) => {
    const cached = verified.get(token)
    const signed = cached ?? readSigned(token)
    if (!signed || signed.expiresAt + clockSkewMs <= now) return undefined
    if (!cached) verified.set(token, signed)
    return signed.caller
  }
}

const claimsSchema = z.looseObject({ aud: z.string(), exp: z.number(), address: z.string() })
const upstreamSchema = z.object({ name: z.string(), rights: z.array(z.string()) })
const accountSchema = z
  .object({ sub: z.string(), username: z.string(), admin: z.boolean(), auth_time: z.number().int() })
  .transform(({ sub: userId, username, admin: isAdmin, auth_time: tokenIssuedAt }): CallerAccount => {
    return Object.freeze({ userId, username, isAdmin, tokenIssuedAt })
  })

/** Does not look at the expiry. */
function createReader(lines: readonly string[], audience: string): (token: string) => SignedCaller | undefined {
  const keys = new Map<string, NonNullable<ReturnType<typeof readCallerKey>>>()
  for (const line of lines) {
    const read = readCallerKey(line)
    if (!read) throw new Error('CALLER_KEYS: a line is no key')
    keys.set(headerOf(read.kid), read)
  }
  return (token) => {
    const parts = token.split('.', 4)
    const [header = '', claims = '', signature = ''] = parts
    // The header is what the gateway writes, byte for byte: no other algorithm is heard.
    const signerKey = keys.get(header)
    if (!signerKey || parts.length !== 3 || token.length > maxCallerTokenLength) return undefined
    const signed = Buffer.from(`${header}.${claims}`)
    if (!verify(null, signed, signerKey.key, Buffer.from(signature, 'base64url'))) return undefined
    const parsed = claimsSchema.safeParse(JSON.parse(Buffer.from(claims, 'base64url').toString()))
    if (!parsed.success || parsed.data.aud !== audience) return undefined
    const caller = callerOf(signerKey.signer === 'operator', parsed.data)
    return caller && { caller: Object.freeze(caller), expiresAt: parsed.data.exp * 1000 }
  }
}

/** The key decides who is the operator, and the operator is no account. */
function callerOf(isOperator: boolean, claims: z.output<typeof claimsSchema>): Caller | undefined {
  const { address } = claims
  if (claims['upstream'] !== undefined) {
    const upstream = upstreamSchema.safeParse(claims['upstream'])
    const isAlone = claims['sub'] === undefined && !isOperator
    return upstream.success && isAlone ? { address, account: null, upstream: upstream.data } : undefined
  }
  if (claims.sub === undefined) return { address, account: null, ...(isOperator && { operator: true as const }) }
  const account = accountSchema.safeParse(claims)
  return account.success && !isOperator ? { address, account: account.data } : undefined
}
