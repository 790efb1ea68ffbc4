import { verify, type KeyObject } from 'node:crypto'
import { maxBearerTokenLength, type AskingUpstream } from '@gatehouse/auth'
import { encode, publicKeyOf, signJws } from '@gatehouse/auth/keys'
import { upstreamLimits } from '@gatehouse/contracts'
import { z } from 'zod'
import type { Upstream } from './contract.ts'

export type StatementVerdict = AskingUpstream | 'invalid' | 'stale'
export type StatementVerifier = (statement: string, now: number) => StatementVerdict

const headerSchema = z.looseObject({ alg: z.literal('EdDSA') })
const claimsSchema = z.looseObject({ iss: z.string(), aud: z.string(), iat: z.number(), exp: z.number() })

/**
 * Judges what upstreams sign themselves: a compact JWS (RFC 7515, RFC 8037) by the key of its `iss`, for this instance, for
 * at most a minute. It may come again: it opens reads alone. `now` in milliseconds. Contract: 3, upstreams.
 */
export function createStatementVerifier(upstreams: readonly Upstream[], audience: string): StatementVerifier {
  const asking = new Map(
    upstreams.flatMap(({ name, asks }) =>
      asks ? [[name, { upstream: { name, rights: asks.rights }, key: publicKeyOf(asks.key) }]] : [],
    ),
  )
  return (statement, now) => {
    const [header = '', payload = '', signature = '', ...rest] = statement.split('.', 4)
    if (statement.length > maxBearerTokenLength || rest.length > 0) return 'invalid'
    const claims = decode(claimsSchema, payload)
    const issuer = claims && decode(headerSchema, header) && asking.get(claims.iss)
    if (!issuer || claims.aud !== audience) return 'invalid'
    const signed = Buffer.from(`${header}.${payload}`)
    if (!verify(null, signed, issuer.key, Buffer.from(signature, 'base64url'))) return 'invalid'
    const seconds = now / 1000
    const isInTime = claims.exp > seconds && claims.iat <= seconds + upstreamLimits.askSeconds
    return isInTime && claims.exp - claims.iat <= upstreamLimits.askSeconds ? issuer.upstream : 'stale'
  }
}

/** For tests, and the form that other languages write. */
export function signStatement(key: KeyObject, claims: object): string {
  return signJws(encode({ alg: 'EdDSA', typ: 'JWT' }), claims, key)
}

function decode<S extends z.ZodType>(schema: S, part: string): z.output<S> | undefined {
  try {
    return schema.safeParse(JSON.parse(Buffer.from(part, 'base64url').toString())).data
  } catch {
    return undefined
  }
}
