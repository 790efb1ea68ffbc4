import { describeUserAgent, type SignInMethod } from '@gatehouse/contracts'
import { changeRows } from '@gatehouse/database'
import { SignIn } from '@gatehouse/domain'
import type { ClientDescription } from '@gatehouse/service-kit'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../../deps.ts'
import { policy } from '../../policy.ts'

/** Who asks for a token. */
export type Sender = { address: string; client: ClientDescription; requestId?: string | undefined }

/** `at` in milliseconds. */
type Facts = { userId: string; at: number; method: SignInMethod; client: ClientDescription }

/** In the token's transaction. Removes what is beyond the newest; no login waits for another. Contract: 3, Sign-ins. */
export async function recordSignIn(em: EntityManager, { userId, at, method, client }: Facts): Promise<void> {
  const sql = `with removed as (
      delete from sign_ins where user_id = ? and id in (
        select id from sign_ins where user_id = ? and id <= (
          select id from sign_ins where user_id = ? order by id desc offset ${policy.signInsPerAccount - 1} limit 1)
        order by id limit ${policy.signInsRemovedAtOnce} for update skip locked)
    )
    insert into sign_ins (user_id, signed_in_at, method, network, device) values (?, ?, ?, ?, ?)`
  const signIn = [userId, new Date(at), method, client.network, describeUserAgent(client.userAgent)]
  await changeRows(em, sql, [userId, userId, userId, ...signIn])
}

/** Newest first. Contract: 3, Sign-ins. */
export async function listSignIns({ orm }: Pick<Deps, 'orm'>, userId: string) {
  const options = { orderBy: { id: 'desc' }, limit: policy.signInsPerAccount } as const
  const found = await orm.em.fork().find(SignIn, { userId }, options)
  const signIns = found.map(({ id, signedInAt, method, network, device = null }) => ({
    ...{ id, signedInAt: signedInAt.getTime(), method, network, device },
  }))
  return { signIns }
}
