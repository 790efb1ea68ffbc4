import type { AuditEntry } from '@gatehouse/domain'

/** Contract: 5. */
export function auditReply(entry: AuditEntry) {
  const { id, action, targetType, detail } = entry
  return {
    id,
    action,
    actorId: entry.actorId ?? null,
    actorUsername: entry.actorUsername ?? null,
    targetType,
    targetId: entry.targetId ?? null,
    detail,
    createdAt: entry.createdAt.getTime(),
  }
}
