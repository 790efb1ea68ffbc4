import type { IncomingHttpHeaders } from 'node:http'
import type { Instance, Peer } from './instance.ts'
import { limitPeer } from './limits.ts'
import type { PeerLimit } from './limits.ts'
import { refused } from './replies.ts'
import type { ReceivedRequest } from './replies.ts'
import { isFresh, isSignedWith, isTimestamp, signatureWindowMs, writtenAgain } from './signature.ts'

export type FederationHeaders = { origin: string; timestamp: string; nonce: string | null; signature: string }

type Endpoint = {
  limit?: PeerLimit
  /** rotate alone looks at no nonce. wire: 1 */
  ignoresNonce?: boolean
  /** relay and sync: a nonce here obliges the peer to send one from now on. wire: 1 */
  obligesToNonce?: boolean
}

const longestNonce = 64

/** Null when one is missing or cannot be what it should be. wire: 1 */
export function readFederationHeaders(headers: IncomingHttpHeaders): FederationHeaders | null {
  const [origin, timestamp, signature] = ['origin', 'timestamp', 'signature'].map((name) => headerText(headers, name))
  const nonce = headerText(headers, 'nonce')
  if (!origin || !timestamp || !signature) return null
  if (!isTimestamp(timestamp) || (nonce !== undefined && nonce.length > longestNonce)) return null
  return { origin, timestamp, signature, nonce: nonce || null }
}

function headerText(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[`x-federation-${name}`]
  return typeof value === 'string' ? value.trim() : undefined
}

/** The order: headers, active, limit, signature and age, nonce seen, nonce missing. The body comes after. wire: 1 */
export function requireSigned(instance: Instance, request: ReceivedRequest, endpoint: Endpoint = {}): Peer {
  const headers = readFederationHeaders(request.headers)
  if (!headers) throw refused(401, 'Missing or invalid federation headers')
  const peer = instance.peers.get(headers.origin)
  if (!peer || peer.status !== 'active') throw refused(403, 'Not an active peer')
  if (endpoint.limit) limitPeer(instance, endpoint.limit, peer.origin)
  requireSignature(instance, request, { headers, secrets: takenSecrets(instance, peer) })
  if (!endpoint.ignoresNonce) requireNewNonce(instance, peer, { headers, endpoint })
  return peer
}

type Claim = { headers: FederationHeaders; secrets: string[] }

/** A wrong signature and a wrong age are one answer. wire: 1 */
export function requireSignature(instance: Instance, request: ReceivedRequest, { headers, secrets }: Claim): void {
  const message = { timestamp: headers.timestamp, nonce: headers.nonce, body: writtenAgain(request.body) }
  const isSigned = secrets.some((secret) => isSignedWith(secret, headers.signature, message))
  if (isSigned && isFresh(headers.timestamp, instance.now())) return
  throw refused(401, 'Invalid federation signature')
}

/** Both secrets for 15 minutes after a rotation, then the old one alone until the next tick. wire: 2.8 */
export function takenSecrets(instance: Instance, peer: Peer): string[] {
  if (peer.newSecret === null || instance.now() >= peer.newSecretTakenUntil) return [peer.secret]
  return [peer.secret, peer.newSecret]
}

type NonceUse = { headers: FederationHeaders; endpoint: Endpoint }

function requireNewNonce(instance: Instance, peer: Peer, { headers, endpoint }: NonceUse): void {
  if (headers.nonce === null) {
    if (peer.sendsNonces) throw refused(401, 'Missing federation nonce')
    return
  }
  const now = instance.now()
  for (const [key, usedAt] of instance.nonces) if (now - usedAt > signatureWindowMs) instance.nonces.delete(key)
  const key = `${peer.origin} ${headers.nonce}`
  if (instance.nonces.has(key)) throw refused(409, 'Nonce already used')
  instance.nonces.set(key, now)
  if (endpoint.obligesToNonce) peer.sendsNonces = true
}
