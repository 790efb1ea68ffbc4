import { read } from '@gatehouse/database'
import type { z } from 'zod'
import type { attachProofReply } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { hashToken } from '../peers/signature.ts'

type Input = { token: string; targetDomain: string }

/** One statement: only one asker succeeds. All failures read alike. federation-wire.md 4, attach 3. */
export async function consumeAttachProof(
  { orm, clock }: Pick<Deps, 'orm' | 'clock'>,
  { token, targetDomain }: Input,
): Promise<z.infer<typeof attachProofReply>> {
  const em = orm.em.fork()
  const [user] = await read<{ homeUserId: string; username: string }>(
    em,
    `with used as (
       delete from attach_proofs where token_hash = ? and target_domain = ? and expires_at > ? returning user_id)
     select u.id::text as "homeUserId", u.username from used join users u on u.id = used.user_id
     where not u.is_deleted and u.home_instance is null and u.former_home_instance is null`,
    [hashToken(token), targetDomain, new Date(clock.now())],
  )
  return user ? { valid: true, ...user } : { valid: false }
}
