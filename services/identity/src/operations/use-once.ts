import { read } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'

type Use = { issuer: string; token: string; expiresAt: Date }

/** Whether this is the first use, on any replica. It is remembered until `expiresAt`. */
export async function useOnce(em: EntityManager, { issuer, token, expiresAt }: Use): Promise<boolean> {
  const sql =
    'insert into used_tokens (issuer, token, expires_at) values (?, ?, ?) on conflict do nothing returning token'
  return (await read(em, sql, [issuer, token, expiresAt])).length > 0
}
