import { secondOf, type ActingCaller } from '@gatehouse/authority'
import { read } from '@gatehouse/database'
import { AttachProof, type RevocationTime, type User } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { OperationContext } from '../../deps.ts'
import { endTickets } from '../accounts/end-tickets.ts'

/** `caller`: the person of the account. */
type Revocation = { user: User; caller?: ActingCaller | undefined }

const secondMs = 1_000

/**
 * When a change revokes the account's tokens. Call it last, under the account's lock. It waits for the next second where a
 * token may be of this one, because a token of the second of the change stays valid. A wait that is too long or one too
 * many is left out, and the time lies ahead. What the tokens proved to other instances ends too, and sign-ins at providers that
 * are not finished. Contract: 3, Revocation;
 * docs/decisions/immediate-revocation.md.
 */
export async function revocationTime(
  deps: OperationContext,
  em: EntityManager,
  { user, caller }: Revocation,
): Promise<RevocationTime> {
  // They are issued under this lock, too.
  await em.nativeDelete(AttachProof, { userId: user.id })
  await endTickets(em, user.id)
  const now = await deps.databaseTime(em)
  const signedIn = await findNewestSignIn(em, user.id, secondOf(now))
  const newest = Math.max(signedIn, secondOf(user.passwordChangedAt), caller?.tokenIssuedAt ?? 0)
  const earliest = (newest + 1) * secondMs
  const reached = now < earliest ? await wait(deps, em, { userId: user.id, ms: earliest - now }) : now
  return Math.max(reached, earliest) as RevocationTime
}

/** Seconds since the epoch. 0: none since `second`. */
async function findNewestSignIn(em: EntityManager, userId: string, second: number): Promise<number> {
  const sql = `select coalesce(floor(extract(epoch from max(signed_in_at))), 0)::float8 as second
    from sign_ins where user_id = ? and signed_in_at >= ?`
  const [newest] = await read<{ second: number }>(em, sql, [userId, new Date(second * secondMs)])
  return newest?.second ?? 0
}

type Wait = { userId: string; ms: number }

/** Gives the time after it. 0: none, since the database's clock went back, or enough connections of this process wait. */
async function wait({ databaseTime, revocationWaits }: OperationContext, em: EntityManager, { userId, ms }: Wait) {
  if (ms > secondMs || !revocationWaits.take(userId)) return 0
  try {
    return await databaseTime(em, ms)
  } finally {
    revocationWaits.release(userId)
  }
}
