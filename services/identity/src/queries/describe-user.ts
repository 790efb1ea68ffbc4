import { listOpenSockets } from '@gatehouse/contracts'
import { read } from '@gatehouse/database'
import { Passkey, SignIn, adminView, deletedUsername } from '@gatehouse/domain'
import { Unavailable } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import { listAudit } from './list-audit.ts'
import { listLinkedIdentities } from './list-identities.ts'
import { listOrders, listPeersOfUser } from './list-orders.ts'
import { loadEmail } from './load-email.ts'
import { loadUser } from './load-user.ts'

type UserQuestion = { userId: string; requestId: string }

/** What the page of a user shows. Each read goes by an index. Contract: 5, A user. */
export async function describeUser(deps: Pick<Deps, 'orm' | 'bus' | 'log' | 'config'>, question: UserQuestion) {
  const { userId } = question
  const user = await loadUser(deps.orm.em, userId)
  const em = deps.orm.em.fork()
  const sockets = askSockets(deps, question)
  const own = await loadEmail(deps, user)
  const [invitedBy, invited, passkeys, { identities }, lastSignIn, audit, instances, { orders }] = await Promise.all([
    findInvitation(em, userId),
    listInvited(deps.orm.em.fork(), userId),
    em.count(Passkey, { userId }),
    listLinkedIdentities(deps, userId),
    deps.orm.em.fork().findOne(SignIn, { userId }, { orderBy: { id: 'desc' } }),
    listAudit(deps.orm.em.fork(), { subject: userId, limit: policy.auditOfUser, tz: 'UTC' }),
    listPeersOfUser(deps.orm.em.fork(), userId),
    listOrders(deps.orm.em.fork(), userId),
  ])
  return {
    user: { ...adminView(user), ...(!user.isDeleted && { hasPassword: user.hasPassword }) },
    invitedBy,
    invited,
    ...(await sockets),
    passkeys,
    identities,
    ...(own && { email: own.email }),
    secondFactor: user.secondFactor,
    lastLoginAt: lastSignIn?.signedInAt.getTime() ?? null,
    audit: audit.entries,
    instances,
    orders,
  }
}

/** Never rejects: a page of a user needs no session gateway. */
async function askSockets({ bus, log }: Pick<Deps, 'bus' | 'log'>, { userId, requestId }: UserQuestion) {
  try {
    return await bus.request(listOpenSockets, { userId }, { requestId, timeoutMs: policy.socketsCallTimeoutMs })
  } catch (err) {
    if (!(err instanceof Unavailable)) log.error({ err, userId, requestId }, 'open sockets of a user not told')
    return { sockets: [], incomplete: true }
  }
}

/** Null: by no invite, or by one that was deleted. */
async function findInvitation(em: EntityManager, userId: string) {
  type Row = { inviteId: string; name: string; userId: string | null; username: string | null; isDeleted: boolean }
  const sql = `select invites.id::text as "inviteId", name, users.id::text as "userId", username, is_deleted as "isDeleted"
    from invite_redemptions join invites on invites.id = invite_id left join users on users.id = created_by
    where user_id = ? limit 1`
  const [row] = await read<Row>(em, sql, [userId])
  if (!row) return null
  const { isDeleted, ...invitation } = row
  return { ...invitation, username: isDeleted ? deletedUsername : row.username }
}

/** By its invites, as an admin or a member, those of the latest first. */
async function listInvited(em: EntityManager, userId: string) {
  const sql = `select users.id::text as id, username
    from invites join invite_redemptions on invite_id = invites.id join users on users.id = user_id
    where created_by = ? and not is_deleted order by invites.id desc, invite_redemptions.id desc limit ?`
  return await read<{ id: string; username: string }>(em, sql, [userId, policy.invitedOfUser])
}
