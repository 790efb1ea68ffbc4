import { describeUserAgent, type SignInMethod } from '@gatehouse/contracts'
import { changeRows } from '@gatehouse/database'
import { SignIn, type User } from '@gatehouse/domain'
import type { ClientDescription } from '@gatehouse/service-kit'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../../deps.ts'
import { noticeLogin } from '../../mail/outbox.ts'
import { policy } from '../../policy.ts'

/** Who asks for a token. */
export type Sender = { address: string; client: ClientDescription; requestId?: string | undefined }

declare const ofIssue: unique symbol

/** Milliseconds since the epoch. A later change of the account finds the sign-in: only `recordSignIn` makes one. */
export type IssueTime = number & { readonly [ofIssue]: true }

/** `now` is the database's time, read under the account's lock. */
type Facts = { user: User; now: number; client: ClientDescription } & (
  | { method: Exclude<SignInMethod, 'renewal'>; loggedInAt?: never }
  /** `loggedInAt`: the login of the session that is renewed, in milliseconds. Null: it is not known. */
  | { method: 'renewal'; loggedInAt: number | null }
)

/** No logins of their own, or told already. Contract: 3, Mail. */
const untold: readonly SignInMethod[] = ['registration', 'renewal', 'recovery']

/**
 * In the token's transaction; gives the token's time of issue. Removes what is beyond the newest; no login waits for
 * another. Contract: 3, Sign-ins; docs/decisions/immediate-revocation.md.
 */
export async function recordSignIn(em: EntityManager, { user, now, client, ...of }: Facts): Promise<IssueTime> {
  const { method, loggedInAt = null } = of
  const userId = user.id
  const issuedAt = Math.max(now, user.passwordChangedAt ?? 0)
  const loginClient = { network: client.network, device: describeUserAgent(client.userAgent) }
  if (!untold.includes(method)) await noticeLogin(em, { user, at: now, client: loginClient })
  const sql = `with removed as (
      delete from sign_ins where user_id = ? and id in (
        select id from sign_ins where user_id = ? and id <= (
          select id from sign_ins where user_id = ? order by id desc offset ${policy.signInsPerAccount - 1} limit 1)
        order by id limit ${policy.signInsRemovedAtOnce} for update skip locked)
    )
    insert into sign_ins (user_id, signed_in_at, method, network, device, logged_in_at) values (?, ?, ?, ?, ?, ?)`
  const renewed = loggedInAt === null ? null : new Date(loggedInAt)
  const signIn = [userId, new Date(issuedAt), method, loginClient.network, loginClient.device, renewed]
  await changeRows(em, sql, [userId, userId, userId, ...signIn])
  return issuedAt as IssueTime
}

/** Newest first. Contract: 3, Sign-ins. */
export async function listSignIns({ orm }: Pick<Deps, 'orm'>, userId: string) {
  const options = { orderBy: { id: 'desc' }, limit: policy.signInsPerAccount } as const
  const rows = await orm.em.fork().find(SignIn, { userId }, options)
  const signIns = rows.map(({ id, signedInAt, method, network, device = null }) => ({
    id,
    signedInAt: signedInAt.getTime(),
    method,
    network,
    device,
  }))
  return { signIns }
}
