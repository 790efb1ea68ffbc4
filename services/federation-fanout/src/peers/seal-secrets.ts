import { openPeerSecret, peerSecrets, sealedPrefix, sealPeerSecret, type EncryptionKey } from '@gatehouse/auth'
import { rewriteTexts } from '@gatehouse/database'
import { useTextSeal } from '@gatehouse/domain'
import type { MikroORM } from '@mikro-orm/postgresql'

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
