import type { EntityManager } from '@mikro-orm/postgresql'
import { AuditEntry } from './entities/index.ts'

/** Who acts, as the audit log and the events name them: an admin, or the operator, who has no id. */
export type Actor = { userId: string | null; username: string }

/** The operator's command line: it acts with the rights of an admin. */
export type Operator = { userId: null; username: 'operator' }
export const operator: Operator = { userId: null, username: 'operator' }

export type AuditRecord = {
  /** A dotted name: `user.password-reset`, `invite.revoked`. */
  action: string
  actor: Actor
  target: { type: 'user' | 'invite' | 'settings' | 'peer' | 'approval-request'; id: string | null }
  /** What changed; never a secret, token or password. */
  detail?: Record<string, unknown>
  at: Date
}

/** Writes an admin's act into the audit log, in the transaction of the act. Contract: 5. */
export function recordAudit(em: EntityManager, { action, actor, target, detail = {}, at }: AuditRecord): void {
  em.persist(
    em.create(AuditEntry, {
      action,
      actorId: actor.userId,
      actorUsername: actor.username,
      targetType: target.type,
      targetId: target.id,
      detail,
      createdAt: at,
    }),
  )
}
