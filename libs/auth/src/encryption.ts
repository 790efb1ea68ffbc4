import { createCipheriv, createDecipheriv, createHash, hkdfSync } from 'node:crypto'
import { systemRandom } from '@gatehouse/runtime'

export type EncryptionKey = ReturnType<typeof createEncryptionKey>

const form = 'enc1'
const nonceBytes = 12
const tagBytes = 16

/** Of every text that `encrypt` made, with whatever key. */
export const sealedPrefix = `${form}.`

/** Texts of a previous secret stay readable. Contract: 8, ENCRYPTION_SECRET. */
export function createEncryptionKey(secret: string, previous: readonly string[] = []) {
  const encrypting = deriveKey(secret)
  const all = [...previous.map(deriveKey), encrypting]
  return { encrypting, decrypting: new Map(all.map(({ id, key }) => [id, key])) }
}

/** AES-256-GCM. `context` names the row (`second-factor:<user id>`): the text cannot be moved to another one. */
export function encrypt(encryptionKey: EncryptionKey, plain: string, context: string): string {
  const nonce = systemRandom.bytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', encryptionKey.encrypting.key, nonce).setAAD(Buffer.from(context))
  const sealed = Buffer.concat([nonce, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return prefixOf(encryptionKey) + sealed.toString('base64url')
}

/** Of the texts that the secret in force encrypted. */
export const prefixOf = ({ encrypting: { id } }: EncryptionKey): string => `${sealedPrefix}${id}.`

export const isEncrypted = (text: string): boolean => text.startsWith(sealedPrefix)

/** Throws for an unknown secret, another context and a changed text. */
export function decrypt({ decrypting }: EncryptionKey, encrypted: string, context: string): string {
  const [start, id = '', text = ''] = encrypted.split('.')
  const key = decrypting.get(id)
  if (start !== form || !key) throw new Error('ENCRYPTION_SECRET is not the one that encrypted this')
  const sealed = Buffer.from(text, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(-tagBytes))
  return decipher.update(sealed.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
}

function deriveKey(secret: string): { id: string; key: Buffer } {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'gatehouse encryption at rest', 32))
  return { id: createHash('sha256').update(key).digest('base64url').slice(0, 8), key }
}
