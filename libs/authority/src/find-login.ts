import type { ActingCaller } from './judge.ts'
import type { EntityManager } from '@mikro-orm/postgresql'

type SignInsOfToken = { signIns: number; known: number; loggedInAt: number | null; isOfChange: boolean | null }

/** A sign-in is written with the token that it gives. Several of one second: none of them is older than the oldest. */
const sql = `select count(*)::int as "signIns", count(at)::int as known, floor(extract(epoch from min(at)))::float8 as "loggedInAt",
    (select home_instance is null and password_changed_at / 1000 = ? from users where id = ?) as "isOfChange"
  from (
    select case method when 'renewal' then logged_in_at else signed_in_at end as at
    from sign_ins where user_id = ? and signed_in_at >= to_timestamp(?) and signed_in_at < to_timestamp(?)
  ) of_token`

/**
 * When the person of this session logged in, in seconds since the epoch: not when its token was renewed, nor when another session of
 * the account began. Null: it is not known. A local account confirms a change of the password and an end of sessions with the
 * password, and gets a token of that second. Contract: 3, Applications.
 */
export async function findLogin(em: EntityManager, { userId, tokenIssuedAt }: ActingCaller): Promise<number | null> {
  const parameters = [tokenIssuedAt, userId, userId, tokenIssuedAt, tokenIssuedAt + 1]
  const [row] = await em.execute<SignInsOfToken[]>(sql, parameters)
  if (!row) return null
  const { signIns, known, loggedInAt, isOfChange } = row
  if (signIns === 0) return isOfChange ? tokenIssuedAt : null
  return known === signIns ? loggedInAt : null
}
