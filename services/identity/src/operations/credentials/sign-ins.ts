import { describeUserAgent, type SignInMethod } from '@gatehouse/contracts'
import { changeRows } from '@gatehouse/database'
import { SignIn } from '@gatehouse/domain'
import type { ClientDescription, Resources } from '@gatehouse/service-kit'
import type { EntityManager } from '@mikro-orm/postgresql'
import { policy } from '../../policy.ts'

/** `at` in milliseconds. */
type Facts = { userId: string; at: number; method: SignInMethod; client: ClientDescription }

/**
 * In the transaction that issues the token. Removes what exceeds the newest of the account. Logins of one account do not
 * wait for each other. Contract: 3, Sign-ins.
 */
export async function recordSignIn(em: EntityManager, { userId, at, method, client }: Facts): Promise<void> {
  const { network, userAgent } = client
  const others = policy.signInsPerAccount - 1
  await changeRows(
    em,
    `with removed as (
       delete from sign_ins where user_id = ? and id in (
         select id from sign_ins where user_id = ?
           and id <= (select id from sign_ins where user_id = ? order by id desc offset ${others} limit 1)
         order by id limit ${policy.signInsRemovedAtOnce} for update skip locked)
     )
     insert into sign_ins (user_id, signed_in_at, method, network, device) values (?, ?, ?, ?, ?)`,
    [userId, userId, userId, userId, new Date(at), method, network, describeUserAgent(userAgent)],
  )
}

/** Newest first. Contract: 3, Sign-ins. */
export async function listSignIns({ orm }: Pick<Resources, 'orm'>, userId: string) {
  const options = { orderBy: { id: 'desc' }, limit: policy.signInsPerAccount } as const
  const found = await orm.em.fork().find(SignIn, { userId }, options)
  return found.map(({ id, signedInAt, method, network, device = null }) => ({
    ...{ id, signedInAt: signedInAt.getTime(), method, network, device },
  }))
}
