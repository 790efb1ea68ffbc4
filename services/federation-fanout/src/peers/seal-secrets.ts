import { openPeerSecret, peerSecrets, sealedPrefix, sealPeerSecret, type EncryptionKey } from '@gatehouse/auth'
import { read, rewriteTexts } from '@gatehouse/database'
import { useTextSeal } from '@gatehouse/domain'
import type { MikroORM } from '@mikro-orm/postgresql'

/**
 * Reads secrets in both forms. Writes them encrypted where nobody runs that cannot read them: in an instance without
 * peers, with one process alone, and once one is encrypted. Contract: 8, ENCRYPTION_SECRET.
 */
export async function startSealing(
  { orm, encryptionKey: key }: { orm: MikroORM; encryptionKey: EncryptionKey },
  { isOnlyReplica }: { isOnlyReplica: boolean },
) {
  const state = { isOn: isOnlyReplica }
  const sql = `select not exists (select from peers) or exists (select from peers where secret like 'enc%.%') as "isSealed"`
  const refresh = async () => {
    state.isOn ||= (await read<{ isSealed: boolean }>(orm.em.fork(), sql))[0]?.isSealed === true
  }
  useTextSeal(orm.em.getPlatform(), {
    seal: (plain) => (state.isOn ? sealPeerSecret(key, plain) : plain),
    open: (stored) => openPeerSecret(key, stored),
  })
  await refresh()
  if (state.isOn) await sealPlainSecrets(orm, key)
  return { refresh }
}

/** Any number of callers may run it. Returns how many rows were changed. */
export async function sealPlainSecrets(orm: MikroORM, key: EncryptionKey): Promise<number> {
  const rewriting = { prefix: sealedPrefix, rewrite: (plain: string) => sealPeerSecret(key, plain) }
  let changed = 0
  for (const secrets of peerSecrets) changed += (await rewriteTexts(orm, secrets, rewriting)).changed
  return changed
}
