import { createPrivateKey, createPublicKey, hkdfSync, sign, verify, type KeyObject } from 'node:crypto'
import type { KeptReceipt, Receipt } from '@gatehouse/contracts'

export type ReceiptKeys = {
  readonly signing: KeyObject
  /** Raw Ed25519 keys, base64url, the one in force first. */
  readonly published: readonly string[]
}

/** All replicas derive the same keys. Those of previous secrets stay published. Contract: 7, Receipts. */
export function createReceiptKeys(secret: string, previous: readonly string[] = []): ReceiptKeys {
  const signing = deriveKey(secret)
  return { signing, published: [signing, ...previous.map(deriveKey)].map(publicTextOf) }
}

export function signReceipt({ signing }: ReceiptKeys, receipt: Receipt) {
  return { receipt, signature: sign(null, signedBytes(receipt), signing).toString('base64url') }
}

/** Whether the key signed it. An unreadable key has signed nothing. */
export function isReceiptGenuine({ receipt, signature, publicKey }: KeptReceipt): boolean {
  try {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' })
    return verify(null, signedBytes(receipt), key, Buffer.from(signature, 'base64url'))
  } catch {
    return false
  }
}

/** The order of the contract, whatever the order in which JSON brought them. */
function signedBytes({ homeUserId, mode, deletedAt, origin }: Receipt): Buffer {
  return Buffer.from(JSON.stringify({ homeUserId, mode, deletedAt, origin }))
}

/** An Ed25519 key in PKCS #8 is this prefix and its seed. RFC 8410. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

function deriveKey(secret: string): KeyObject {
  const seed = Buffer.from(hkdfSync('sha256', secret, '', 'gatehouse deletion receipts', 32))
  return createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: 'der', type: 'pkcs8' })
}

const publicTextOf = (key: KeyObject): string => String(createPublicKey(key).export({ format: 'jwk' }).x)
