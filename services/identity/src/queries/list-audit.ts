import type { pageQuery } from '@gatehouse/contracts'
import { AuditEntry } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'

type Page = { entries: AuditEntry[]; nextCursor: string | null }

/** What admins did, newest first, from below `cursor`; `nextCursor` is null at the end. Contract: 5. */
export async function listAudit(em: EntityManager, query: z.infer<typeof pageQuery>): Promise<Page> {
  const where = query.cursor === undefined ? {} : { id: { $lt: query.cursor } }
  const found = await em.find(AuditEntry, where, { orderBy: { id: 'desc' }, limit: query.limit + 1 })
  const entries = found.slice(0, query.limit)
  return { entries, nextCursor: found.length > query.limit ? entries.at(-1)!.id : null }
}
