import { inviteRevoked } from '@gatehouse/contracts'
import { recordAudit } from '@gatehouse/database'
import { Invite, type Actor, type User } from '@gatehouse/domain'
import { activeInvites } from '@gatehouse/invites'
import { enqueue } from '@gatehouse/outbox'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { OperationContext } from '../deps.ts'

type Revocation = { user: User; actor: Actor; requestId: string | undefined }

/** Revokes the active invites that the account made as a member. The account is locked. Contract: 4, Invites of members. */
export async function revokeMemberInvites(deps: OperationContext, em: EntityManager, by: Revocation): Promise<void> {
  const { user, actor, requestId } = by
  const at = deps.clock.now()
  const where = { $and: [{ createdBy: user.id, byMember: true }, activeInvites(at)] }
  const options = { orderBy: { id: 'asc' }, lockMode: LockMode.PESSIMISTIC_WRITE } as const
  for (const invite of await em.find(Invite, where, options)) {
    const { id, name } = invite
    invite.revokedAt = new Date(at)
    recordAudit(em, {
      action: 'invite.revoked',
      actor,
      target: { type: 'invite', id },
      detail: { name },
      at: new Date(at),
    })
    const payload = { inviteId: id, name, at, actor: { userId: actor.userId, username: actor.username } }
    // The invite service relays it.
    await enqueue(em, inviteRevoked, payload, { id: deps.random.uuid(), requestId })
  }
  await em.flush()
}
