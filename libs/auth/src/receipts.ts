import { sign, verify, type KeyObject } from 'node:crypto'
import type { KeptReceipt, Receipt } from '@gatehouse/contracts'
import { derivePrivateKey, publicJwk, publicKeyOf } from './callers/signing-keys.ts'

/** `published`: raw Ed25519 keys, base64url, the one in force first. */
export type ReceiptKeys = { readonly signing: KeyObject; readonly published: readonly string[] }

/** Those of previous secrets stay published. Contract: 7, Receipts. */
export function createReceiptKeys(secret: string, previous: readonly string[] = []): ReceiptKeys {
  const derive = (text: string): KeyObject => derivePrivateKey(text, 'gatehouse deletion receipts')
  const signing = derive(secret)
  return { signing, published: [signing, ...previous.map(derive)].map((key) => publicJwk(key).x) }
}

export function signReceipt({ signing }: ReceiptKeys, receipt: Receipt) {
  return { receipt, signature: sign(null, signedBytes(receipt), signing).toString('base64url') }
}

/** Whether the key signed it. Node ignores what is not of base64url. An unreadable key has signed nothing. */
export function isReceiptGenuine({ receipt, signature, publicKey }: KeptReceipt): boolean {
  if (!/^[\w-]{86}$/.test(signature) || !/^[\w-]{43}$/.test(publicKey)) return false
  try {
    return verify(null, signedBytes(receipt), publicKeyOf(publicKey), Buffer.from(signature, 'base64url'))
  } catch {
    return false
  }
}

/** The order of the contract, whatever the order in which JSON brought them. */
function signedBytes({ homeUserId, mode, deletedAt, origin }: Receipt): Buffer {
  return Buffer.from(JSON.stringify({ homeUserId, mode, deletedAt, origin }))
}
