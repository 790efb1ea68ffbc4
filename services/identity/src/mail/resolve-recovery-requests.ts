import { emailKeyOf } from '@gatehouse/contracts'
import { read, transaction } from '@gatehouse/database'
import { Email, Mail } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import { findNamed, lockUser } from '../queries/load-user.ts'
import { enqueueLink } from './outbox.ts'

export type SenderDeps = Pick<Deps, 'orm' | 'clock' | 'random' | 'log' | 'metrics' | 'config' | 'encryptionKey'>
type StoredRequest = { id: string; username: string | null; email: string | null }

/** One at a time: each locks its accounts, in the order of ids. Any number of replicas may run it. Contract: 3, Mail. */
export async function resolveRecoveryRequests(deps: SenderDeps): Promise<void> {
  const sql = `delete from recovery_requests where id = (
      select id from recovery_requests order by id limit 1 for update skip locked)
    returning id::text as id, asked ->> 'username' as username, asked ->> 'email' as email`
  const resolveNext = async (em: EntityManager): Promise<boolean> => {
    const [request] = await read<StoredRequest>(em, sql)
    for (const userId of request ? await findAccounts(deps, em, request) : []) await offerRecovery(deps, em, userId)
    return request !== undefined
  }
  while (await transaction(deps.orm, resolveNext));
}

/** By both: a name may look like an address. */
async function findAccounts(
  deps: SenderDeps,
  em: EntityManager,
  { username, email }: StoredRequest,
): Promise<string[]> {
  const where = { key: email === null ? null : emailKeyOf(email), confirmedAt: { $ne: null } }
  const options = { orderBy: { userId: 'asc' }, limit: policy.recoveriesOfAddress } as const
  const byEmail = email === null ? [] : await em.find(Email, where, options)
  const byName = await findNamed(em, username ?? '', deps.config.publicAddress.domain)
  const ids = [...byEmail.map(({ userId }) => userId), ...byName.map(({ id }) => id)]
  return [...new Set(ids)].toSorted((one, other) => (BigInt(one) < BigInt(other) ? -1 : 1))
}

/** As an admin's link, but for an hour. One that cannot be sent within the limit is not offered. Contract: 3, recover. */
async function offerRecovery(deps: SenderDeps, em: EntityManager, userId: string): Promise<void> {
  const user = await lockUser(em, userId)
  const email = await em.findOne(Email, { userId, confirmedAt: { $ne: null } })
  const { address, key, language } = email ?? {}
  if (!user?.isLocal() || user.isDeleted || user.isSuspended() || !address || !key || !language) return
  const at = deps.clock.now()
  const links = await em.count(Mail, { key, kind: 'recovery', createdAt: { $gt: new Date(at - policy.mailHourMs) } })
  if (links >= policy.linksToAddress) return
  const { mailedRecoveryMs: lifeMs } = policy
  const recoveryHash = await enqueueLink(deps, em, {
    user,
    kind: 'recovery',
    to: { address, key, language },
    at,
    lifeMs,
  })
  const maker = { recoveryAdminId: null, recoveryTokenIssuedAt: null }
  user.offerRecovery({ recoveryHash, recoveryExpiresAt: at + lifeMs, ...maker })
}
