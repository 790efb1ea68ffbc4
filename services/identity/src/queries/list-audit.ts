import type { auditQuery } from '@gatehouse/contracts'
import { findPage } from '@gatehouse/database'
import { AuditEntry } from '@gatehouse/domain'
import type { EntityManager, FilterQuery } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import { boundsOfDay, firstIdOf } from './days.ts'

/** A range of days is a range of ids. Contract: 5, audit; Design: invariant 13. */
export async function listAudit(em: EntityManager, query: z.infer<typeof auditQuery>) {
  const { actor, subject, action, after, before, tz, limit, cursor } = query
  const where: FilterQuery<AuditEntry>[] = []
  if (actor === 'operator') where.push({ actorId: null, actorUsername: actor })
  else if (actor) where.push({ actorId: actor })
  if (subject) where.push({ targetId: subject })
  if (action) where.push({ action })
  if (after) where.push({ id: { $gte: firstIdOf(boundsOfDay(after, tz).start.getTime()) } })
  if (before) where.push({ id: { $lt: firstIdOf(boundsOfDay(before, tz).end.getTime()) } })
  const { rows, nextCursor } = await findPage(em, AuditEntry, { where: { $and: where }, limit, cursor })
  const entries = rows.map(({ actorId = null, actorUsername = null, targetId = null, targetName = null, ...entry }) => {
    const { id, action, targetType, detail, createdAt } = entry
    const target = { targetType, targetId, targetName }
    return { id, action, actorId, actorUsername, ...target, detail, createdAt: createdAt.getTime() }
  })
  return { entries, nextCursor }
}
