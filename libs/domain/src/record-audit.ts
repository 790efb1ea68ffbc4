import type { EntityManager } from '@mikro-orm/postgresql'
import { AuditEntry } from './entities/index.ts'

export type AuditFact = {
  /** A dotted name: `user.password-reset`, `invite.revoked`. */
  action: string
  actor: { userId: string; username: string }
  target: { type: 'user' | 'invite' | 'settings' | 'peer' | 'approval-request'; id: string | null }
  /** What changed; never a secret, token or password. */
  detail?: Record<string, unknown>
  at: Date
}

/** Writes an admin's act into the audit log, in the transaction of the act. Contract: 5. */
export function recordAudit(em: EntityManager, fact: AuditFact): void {
  em.persist(
    em.create(AuditEntry, {
      action: fact.action,
      actorId: fact.actor.userId,
      actorUsername: fact.actor.username,
      targetType: fact.target.type,
      targetId: fact.target.id,
      detail: fact.detail ?? {},
      createdAt: fact.at,
    }),
  )
}
