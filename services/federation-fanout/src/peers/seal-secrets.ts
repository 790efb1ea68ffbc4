import { decrypt, encrypt, isEncrypted, sealedPrefix, type EncryptionKey } from '@gatehouse/auth'
import { rewriteTexts } from '@gatehouse/database'
import { useTextSeal } from '@gatehouse/domain'
import type { MikroORM } from '@mikro-orm/postgresql'

const context = 'secrets of peers'

export const peerSecrets = [
  { table: 'peers', key: ['id'], columns: ['secret', 'next_secret', 'previous_secret'], contextOf: () => context },
  { table: 'approval_requests', key: ['id'], columns: ['secret'], contextOf: () => context },
]

export const sealPeerSecret = (key: EncryptionKey, plain: string): string => encrypt(key, plain, context)

/** Processes of 0.3.0 may still store plain ones. */
export const openPeerSecret = (key: EncryptionKey, stored: string): string =>
  isEncrypted(stored) ? decrypt(key, stored, context) : stored

/** Writes secrets encrypted, and encrypts those that 0.3.0 has stored in plain. Contract: 8, ENCRYPTION_SECRET. */
export async function startSealing({ orm, encryptionKey: key }: { orm: MikroORM; encryptionKey: EncryptionKey }) {
  useTextSeal(orm.em.getPlatform(), {
    seal: (plain) => sealPeerSecret(key, plain),
    open: (stored) => openPeerSecret(key, stored),
  })
  await sealPlainSecrets(orm, key)
}

/** Any number of callers may run it. Returns how many rows were changed. */
export async function sealPlainSecrets(orm: MikroORM, key: EncryptionKey): Promise<number> {
  const rewriting = { prefix: sealedPrefix, rewrite: (plain: string) => sealPeerSecret(key, plain) }
  let changed = 0
  for (const secrets of peerSecrets) changed += (await rewriteTexts(orm, secrets, rewriting)).changed
  return changed
}
