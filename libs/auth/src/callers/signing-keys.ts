import { createHash, createPrivateKey, createPublicKey, hkdfSync, sign, type KeyObject } from 'node:crypto'

/** Who may say who is calling. docs/decisions/caller-identity.md. */
export type Signer = 'gateway' | 'operator'

/** `x`: the key's 32 bytes in base64url. `kid`: its thumbprint. RFC 8037, RFC 7517. */
export type PublicJwk = { kty: 'OKP'; crv: 'Ed25519'; x: string; kid: string; alg: 'EdDSA'; use: 'sig' }

export type SigningKeys = {
  readonly signing: { readonly key: KeyObject; readonly kid: string }
  readonly published: readonly PublicJwk[]
}

/** They end before the 32 bytes of the key. RFC 8410, 7 and 4. */
const privateKeyPrefix = Buffer.from('302e020100300506032b657004220420', 'hex')
const publicKeyPrefix = Buffer.from('302a300506032b6570032100', 'hex')
const keyBytes = 32
const derivations: Record<Signer, string> = { gateway: 'gatehouse caller statement', operator: 'gatehouse operator' }

/**
 * A secret is a private key, as `openssl genpkey -algorithm ed25519` prints it between its first and last line, or any
 * text, from which the key is derived. Contract: 8, keys.
 */
export function createSigningKeys(signer: Signer, secret: string, previous: readonly string[] = []): SigningKeys {
  const key = readPrivateKey(signer, secret)
  const own = publicJwk(key)
  const others = previous.map((text) => publicJwk(readPrivateKey(signer, text)))
  return { signing: { key, kid: own.kid }, published: [own, ...others] }
}

/** A line of CALLER_KEYS for each secret. */
export function callerKeyLines(signer: Signer, secrets: readonly string[]): string[] {
  return secrets.map((secret) => {
    const key = createPublicKey(readPrivateKey(signer, secret))
    return `${signer} ${key.export({ format: 'der', type: 'spki' }).toString('base64')}`
  })
}

/** Undefined unless it is a line of CALLER_KEYS. */
export function readCallerKey(line: string): { signer: Signer; key: KeyObject; kid: string } | undefined {
  const [, signer, text = ''] = /^(gateway|operator) ([A-Za-z0-9+/]{59}=)$/.exec(line) ?? []
  const der = Buffer.from(text, 'base64')
  if (!signer || !der.subarray(0, -keyBytes).equals(publicKeyPrefix)) return undefined
  const key = createPublicKey({ key: der, format: 'der', type: 'spki' })
  return { signer: signer as Signer, key, kid: publicJwk(key).kid }
}

function readPrivateKey(signer: Signer, secret: string): KeyObject {
  const der = Buffer.from(secret, 'base64')
  if (!der.subarray(0, -keyBytes).equals(privateKeyPrefix)) return derivePrivateKey(secret, derivations[signer])
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
}

/** All replicas derive the same key. */
export function derivePrivateKey(secret: string, purpose: string): KeyObject {
  const seed = Buffer.from(hkdfSync('sha256', secret, '', purpose, keyBytes))
  return createPrivateKey({ key: Buffer.concat([privateKeyPrefix, seed]), format: 'der', type: 'pkcs8' })
}

/** `x` is the raw key in base64url. RFC 8037, 2. */
export function publicKeyOf(x: string): KeyObject {
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
}

export const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')

/** A compact JWS. RFC 7515, RFC 8037. */
export function signJws(header: string, claims: object, key: KeyObject): string {
  const signed = `${header}.${encode(claims)}`
  return `${signed}.${sign(null, Buffer.from(signed), key).toString('base64url')}`
}

export function publicJwk(key: KeyObject): PublicJwk {
  const publicKey = key.type === 'public' ? key : createPublicKey(key)
  const { x = '' } = publicKey.export({ format: 'jwk' })
  // RFC 7638 sets these members and their order.
  const members = JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x })
  const kid = createHash('sha256').update(members).digest('base64url')
  return { kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' }
}
