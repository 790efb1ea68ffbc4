import type { ActingCaller } from '@gatehouse/authority'
import { read } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'

type Asked = { iat: number; params: Record<string, string | number | undefined> }

/** Seconds since the epoch: the last log-in before the token was issued, as far as it is known. Renewing a token is none. */
export async function authTimeOf(em: EntityManager, { userId, tokenIssuedAt }: ActingCaller): Promise<number | null> {
  const sql = `select extract(epoch from max(signed_in_at))::float8 as at from sign_ins
    where user_id = ? and signed_in_at < to_timestamp(?::bigint + 1)`
  const [row] = await read<{ at: number | null }>(em, sql, [userId, tokenIssuedAt])
  return row?.at == null ? null : Math.floor(row.at)
}

/** Whether the application demands a log-in that this token does not stand for: `prompt=login`, `max_age`, `id_token_hint`. */
export function isLoginDue({ iat, params }: Asked, authTime: number | null, caller: ActingCaller): boolean {
  const { userId, tokenIssuedAt } = caller
  if (params['id_token_hint'] !== undefined && subjectOf(String(params['id_token_hint'])) !== userId) return true
  const isFresh = authTime !== null && authTime > iat && tokenIssuedAt > iat
  if (isFresh) return false
  const prompts = String(params['prompt'] ?? '').split(' ')
  if (prompts.includes('login')) return true
  return params['max_age'] !== undefined && (authTime === null || iat - authTime > Number(params['max_age']))
}

/** Of a token that the library has verified when the request came. */
function subjectOf(idToken: string): unknown {
  const [, payload = ''] = idToken.split('.')
  return (JSON.parse(Buffer.from(payload, 'base64url').toString()) as { sub?: unknown }).sub
}
