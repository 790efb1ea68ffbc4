import { Peer } from '@gatehouse/domain'
import { isRefusal } from '@gatehouse/runtime'
import type { Context, Middleware } from 'koa'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { lacksSignature, readSignature, verifySignature, type SignedHeaders } from '../peers/signature.ts'
import { parseBody, readRawBody } from './raw-body.ts'
import { releaseNonce, claimNonce } from './nonces.ts'

type Needs = Pick<Deps, 'orm' | 'clock' | 'log' | 'metrics'>
type Verification = { outcome: 'accepted'; peer: Peer; signed: SignedHeaders } | { outcome: keyof typeof refusals }

const refusals = {
  missing: refuse.signature_missing,
  headers_missing: refuse.signature_headers_missing,
  unknown_peer: refuse.peer_unknown,
  wrong: refuse.signature_wrong,
  stale: refuse.signature_stale,
  replayed: refuse.nonce_used,
}

/**
 * Lets signed requests of known peers through; `signerOf` and `signedInput` then tell who and what. `isProof` is for
 * the handshake's proof, which comes before a peer is active. Throws signature_missing, peer_unknown, signature_wrong,
 * signature_stale, nonce_used. Contract: 7.
 */
export function requirePeer(deps: Needs, { isProof = false } = {}): Middleware {
  const help = 'Signed requests of other instances'
  const requests = deps.metrics.counter('gatehouse_federation_signed_requests_total', help, ['outcome'])
  return async (ctx, next) => {
    const body = await readRawBody(ctx)
    const judgement = await verifyRequest(deps, { headers: ctx.headers, body, isProof })
    requests.inc({ outcome: judgement.outcome })
    if (judgement.outcome !== 'accepted') throw refusals[judgement.outcome]()
    ctx.state.signer = judgement.peer
    ctx.state.signedInput = parseBody(body)
    await runWithNonce(deps, ctx, judgement.signed, next)
  }
}

type Signed = { headers: Context['headers']; body: Buffer; isProof: boolean }

async function verifyRequest(deps: Needs, { headers, body, isProof }: Signed): Promise<Verification> {
  const signed = readSignature(headers)
  if (!signed) return { outcome: isProof && lacksSignature(headers) ? 'headers_missing' : 'missing' }
  // A peer that was revoked reads like one that never was.
  const status = { $in: isProof ? (['active', 'pending'] as const) : (['active'] as const) }
  const peer = await deps.orm.em.fork().findOne(Peer, { origin: signed.origin, status })
  if (!peer) return { outcome: 'unknown_peer' }
  const verdict = verifySignature({ secret: peer.secret, body, signed, now: deps.clock.now() })
  if (verdict !== 'ok') return { outcome: verdict === 'stale' ? 'stale' : 'wrong' }
  // After the signature: an unsigned request must not use up a peer's nonces, nor fill the table.
  return (await claimNonce(deps, signed)) ? { outcome: 'accepted', peer, signed } : { outcome: 'replayed' }
}

/** The peer that signed the request. */
export function signerOf(ctx: Context): Peer {
  return ctx.state.signer as Peer
}

/** What it signed, parsed. */
export function signedInput(ctx: Context): Record<string, unknown> {
  return ctx.state.signedInput as Record<string, unknown>
}

/** A request that fails for want of a dependency leaves no trace, so that the peer may send the very same again. */
async function runWithNonce(deps: Needs, ctx: Context, signed: SignedHeaders, next: () => Promise<unknown>) {
  try {
    await next()
  } catch (error) {
    if (!isRefusal(error) || error.status >= 500) {
      await releaseNonce(deps, signed).catch((fault: unknown) => {
        deps.log.warn({ requestId: ctx.state.requestId as string, err: fault }, 'nonce not released')
      })
    }
    throw error
  }
}
