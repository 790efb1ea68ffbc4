import type { AuditAction } from '@gatehouse/contracts'
import { AuditEntry, InstanceSettings, type Actor } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'

/** Reads the one row, which a migration inserts. Throws if it is missing. Spec: Instance settings. */
export async function loadInstanceSettings(em: EntityManager): Promise<InstanceSettings> {
  return await em.findOneOrFail(InstanceSettings, { id: 1 })
}

/** Unique across replicas: the database makes it. Contract: 1, ids and times; docs/decisions/state-in-postgres.md. */
export async function nextId(em: EntityManager): Promise<string> {
  const [row] = await em.execute<{ id: string }[]>('select next_snowflake()::text as id')
  if (!row) throw new Error('next_snowflake() gave no row')
  return row.id
}

type AuditRecord = {
  action: AuditAction
  actor: Actor
  target: {
    type: 'user' | 'registration' | 'invite' | 'settings' | 'peer' | 'approval-request' | 'application'
    id: string | null
    name?: string
  }
  /** Never a secret, token or password. */
  detail?: Record<string, unknown>
  at: Date
}

/** In the transaction of the act. Contract: 5, audit. */
export function recordAudit(em: EntityManager, { action, actor, target, detail = {}, at }: AuditRecord): void {
  const acted = { action, actorId: actor.userId, actorUsername: actor.username, detail, createdAt: at }
  const aimed = { targetType: target.type, targetId: target.id, targetName: target.name ?? null }
  em.persist(em.create(AuditEntry, { ...acted, ...aimed }))
}
