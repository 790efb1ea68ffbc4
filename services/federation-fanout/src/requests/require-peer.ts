import { changeRows, takeShared, type SharedLimit } from '@gatehouse/database'
import { FederationNonce, Peer } from '@gatehouse/domain'
import { createQuota, isRefusal, rateLimited, refuse } from '@gatehouse/runtime'
import { callerOf } from '@gatehouse/service-kit'
import type { Context, Middleware } from 'koa'
import type { Deps } from '../deps.ts'
import { activate, isConsented, isDetaching } from '../peers/peer-states.ts'
import { lacksSignature, readSignedHeaders, signAnswer, verifySignature } from '../peers/signature.ts'
import type { SignedHeaders } from '../peers/signature.ts'
import { withPeer, type PeerDeps } from '../peers/with-peer.ts'
import { policy } from '../policy.ts'
import { parseBody, readRawBody, type BodyReading } from './raw-body.ts'

type Verified = { outcome: 'verified'; storedPeer: Peer; secret: string; signed: SignedHeaders }
type Verification = Verified | { outcome: keyof typeof refusals }

const refusals = {
  missing: refuse.signature_missing,
  headers_missing: refuse.signature_headers_missing,
  unknown_peer: refuse.peer_unknown,
  wrong: refuse.signature_wrong,
  stale: refuse.signature_stale,
  replayed: refuse.nonce_used,
}

/**
 * `isProof`: the epoch question is refused only to revoked peers, and never activates a peer. Throws signature_missing,
 * peer_unknown, signature_wrong, signature_stale, nonce_used, busy. Contract: 7, signatures, refused requests.
 */
export function requirePeer(
  deps: PeerDeps & Pick<Deps, 'log' | 'metrics' | 'signingNetworks'>,
  { isProof = false, parse = parseBody } = {},
): Middleware {
  const help = 'Signed requests of other instances'
  const requests = deps.metrics.counter('gatehouse_federation_signed_requests_total', help, ['outcome'])
  return async (ctx, next) => {
    const body = await readRawBody(ctx, ctx.state.bodyReading as BodyReading | undefined)
    const requestId = ctx.state.requestId as string
    const refuseAs = (outcome: keyof typeof refusals) => {
      requests.inc({ outcome })
      return refusals[outcome]()
    }
    const verification = await verifyRequest(deps, { headers: ctx.headers, body, isProof })
    if (verification.outcome !== 'verified') throw refuseAs(verification.outcome)
    const { storedPeer, secret, signed } = verification
    await runWithNonce(deps, { signed, requestId }, async () => {
      const peer = isProof ? storedPeer : await takeProof(deps, storedPeer, { secret, requestId })
      if (!peer) throw refuseAs('unknown_peer')
      requests.inc({ outcome: 'accepted' })
      await deps.signingNetworks.note(peer, callerOf(ctx).address)
      const now = new Date(deps.clock.now())
      if (!peer.isSeenAt(now)) await deps.orm.em.fork().nativeUpdate(Peer, { id: peer.id }, { seenAt: now })
      Object.assign(ctx.state, { signer: peer, signerSecret: secret, signedInput: parse(body) })
      if (!isProof && (await isDetaching(deps, peer))) throw busy()
      await next()
    })
  }
}

/** For refusals before the body is read. Throws signature_missing, peer_unknown. Contract: 7, relay. */
export async function namedPeer({ orm }: Pick<Deps, 'orm'>, headers: Context['headers']): Promise<Peer> {
  const signed = readSignedHeaders(headers)
  if (!signed) throw refuse.signature_missing()
  const peer = await orm.em.fork().findOne(Peer, { origin: signed.origin })
  if (!peer || !(peer.isActive() || peer.isOffered())) throw refuse.peer_unknown()
  return peer
}

type Received = { headers: Context['headers']; body: Buffer; isProof: boolean }

async function verifyRequest(deps: PeerDeps, { headers, body, isProof }: Received): Promise<Verification> {
  const signed = readSignedHeaders(headers)
  if (!signed) return { outcome: isProof && lacksSignature(headers) ? 'headers_missing' : 'missing' }
  const storedPeer = await deps.orm.em.fork().findOne(Peer, { origin: signed.origin })
  // A revoked peer reads like an unknown one.
  const isAllowed =
    storedPeer && (isProof ? storedPeer.status !== 'revoked' : storedPeer.isActive() || storedPeer.isOffered())
  if (!isAllowed) return { outcome: 'unknown_peer' }
  const now = deps.clock.now()
  const verified = verifySignature({ secrets: storedPeer.secretsAt(now), body, signed, now })
  if (verified.verdict === 'stale') return { outcome: 'stale' }
  // Inactive peers read like unknown ones, unless they prove our own offer.
  if (verified.verdict === 'bad') return { outcome: isProof || storedPeer.isActive() ? 'wrong' : 'unknown_peer' }
  // After the signature: an unsigned request must not use up nonces.
  if (!(await claimNonce(deps, signed))) return { outcome: 'replayed' }
  return { outcome: 'verified', storedPeer, secret: verified.secret, signed }
}

/**
 * A signature with the new secret ends a rotation, with the offered one a handshake. Null: the peer is not active.
 * Contract: 7, handshake, consent; protocol.md 2.8.
 */
async function takeProof(
  deps: PeerDeps,
  storedPeer: Peer,
  { secret, requestId }: { secret: string; requestId: string },
) {
  if (storedPeer.isActive() && secret !== storedPeer.nextSecret) return storedPeer
  return await withPeer(deps, { origin: storedPeer.origin, requestId }, async (em, peer) => {
    const now = deps.clock.now()
    if (peer?.isActive() && peer.nextSecret === secret) {
      peer.takeSecret(secret, new Date(now + policy.rotationOverlapMs), new Date(now))
    } else if (peer?.isOffered() && peer.secret === secret && (await isConsented(em, peer))) {
      await activate(em, peer, { secret }, new Date(now))
    }
    return peer?.isActive() ? peer : null
  })
}

export function signerOf(ctx: Context): Peer {
  return ctx.state.signer as Peer
}

export function signedInput(ctx: Context): Record<string, unknown> {
  return ctx.state.signedInput as Record<string, unknown>
}

/** Signs the response with the secret that the request was signed with. protocol.md 1.3. */
export function answerSigned(ctx: Context, { clock, random }: Pick<Deps, 'clock' | 'random'>, reply: object): void {
  const body = Buffer.from(JSON.stringify(reply))
  const secret = ctx.state.signerSecret as string
  ctx.set(signAnswer({ secret, body, timestamp: clock.now(), nonce: random.uuid() }))
  ctx.type = 'json'
  ctx.body = body
}

/**
 * Call it right after `claimNonce`. A request that fails for want of a dependency releases its nonce: the peer may repeat it.
 * Contract: 7, signatures.
 */
export async function runWithNonce(
  deps: Pick<Deps, 'orm' | 'log'>,
  { signed, requestId }: { signed: SignedHeaders; requestId: string | undefined },
  work: () => Promise<unknown>,
): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!isRefusal(error) || error.status >= 500) {
      const { origin, nonce } = signed
      await deps.orm.em
        .fork()
        .nativeDelete(FederationNonce, { origin, nonce })
        .catch((fault: unknown) => {
          deps.log.warn({ requestId, err: fault }, 'nonce not released')
        })
    }
    throw error
  }
}

/** False: used before, on any replica. Contract: 7, signatures. */
export async function claimNonce({ orm, clock }: Pick<Deps, 'orm' | 'clock'>, { origin, nonce }: SignedHeaders) {
  const sql = 'insert into federation_nonces (origin, nonce, expires_at) values (?, ?, ?) on conflict do nothing'
  const expiresAt = new Date(clock.now() + policy.nonceLifetimeMs)
  return (await changeRows(orm.em.fork(), sql, [origin, nonce, expiresAt])) === 1
}

/** Throws rate_limited. Contract: 1, rate limits. */
export async function takeFromLimit(
  { orm, clock }: Pick<Deps, 'orm' | 'clock'>,
  ctx: Pick<Context, 'set'>,
  { limit, key }: { limit: SharedLimit; key: string },
): Promise<void> {
  const { remaining, retryAfter } = await takeShared(orm.em.fork(), { limit, key, now: clock.now() })
  ctx.set({
    'RateLimit-Limit': String(limit.requests),
    'RateLimit-Remaining': String(Math.max(0, remaining)),
    'RateLimit-Reset': String(retryAfter),
  })
  if (remaining < 0) throw rateLimited(retryAfter)
}

/** Use it after `requirePeer`: strangers must not use up the limit. protocol.md 1.5. */
export function limitPeer(deps: Pick<Deps, 'orm' | 'clock'>, limit: SharedLimit): Middleware {
  return async (ctx, next) => {
    await takeFromLimit(deps, ctx, { limit, key: signerOf(ctx).id })
    await next()
  }
}

const busy = () => refuse.busy({ headers: { 'Retry-After': '1' } })

/** Of each peer, in this process. Use it after `requirePeer`. Throws busy. Contract: 7, sync. */
export function oneAtATime(): Middleware {
  const underWay = createQuota(1)
  return async (ctx, next) => {
    const { id } = signerOf(ctx)
    if (!underWay.take(id)) throw busy()
    try {
      await next()
    } finally {
      underWay.release(id)
    }
  }
}
