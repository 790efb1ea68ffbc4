import { createHash, createPrivateKey, createPublicKey, hkdfSync, type KeyObject } from 'node:crypto'

/** The public half of a key. RFC 8037, RFC 7517. */
export type PublicJwk = { kty: 'OKP'; crv: 'Ed25519'; x: string; kid: string; alg: 'EdDSA'; use: 'sig' }

/** The key that signs, and the public halves of all whose statements may still be valid: its own first. */
export type StatementKeys = {
  readonly signing: { readonly key: KeyObject; readonly kid: string }
  readonly published: readonly PublicJwk[]
}

/** `PrivateKeyInfo` of an Ed25519 key up to its 32 bytes. RFC 8410, 7. */
const privateKeyPrefix = Buffer.from('302e020100300506032b657004220420', 'hex')
const derivation = 'gatehouse caller statement'

/**
 * Derives the keys from INTERNAL_SECRET and INTERNAL_SECRET_PREVIOUS, so that all replicas sign with the same one, and no
 * upstream can: it knows neither. Contract: 8.
 */
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
  // The members that RFC 7638 names, in the order of their names.
  const kid = createHash('sha256')
    .update(JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }))
    .digest('base64url')
  return { kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' }
}
