import { createHash, createPrivateKey, createPublicKey, hkdfSync, type KeyObject } from 'node:crypto'

/** RFC 8037, RFC 7517. */
export type PublicJwk = { kty: 'OKP'; crv: 'Ed25519'; x: string; kid: string; alg: 'EdDSA'; use: 'sig' }

export type StatementKeys = {
  readonly signing: { readonly key: KeyObject; readonly kid: string }
  readonly published: readonly PublicJwk[]
}

/** Ends before the 32 bytes of the key. RFC 8410, 7. */
const privateKeyPrefix = Buffer.from('302e020100300506032b657004220420', 'hex')
const derivation = 'gatehouse caller statement'

/** All replicas derive the same keys from INTERNAL_SECRET and INTERNAL_SECRET_PREVIOUS. Contract: 8. */
export function createStatementKeys(secret: string, previous: readonly string[] = []): StatementKeys {
  const key = derivePrivateKey(secret)
  const own = publicJwk(key)
  return { signing: { key, kid: own.kid }, published: [own, ...previous.map(derivePrivateKey).map(publicJwk)] }
}

function derivePrivateKey(secret: string): KeyObject {
  const seed = Buffer.from(hkdfSync('sha256', secret, '', derivation, 32))
  return createPrivateKey({ key: Buffer.concat([privateKeyPrefix, seed]), format: 'der', type: 'pkcs8' })
}

function publicJwk(privateKey: KeyObject): PublicJwk {
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' })
  // RFC 7638 sets these members and their order.
  const kid = createHash('sha256')
    .update(JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }))
    .digest('base64url')
  return { kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' }
}
