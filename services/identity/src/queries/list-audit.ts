import type { pageQuery } from '@gatehouse/contracts'
import { findPage, type Page } from '@gatehouse/database'
import { AuditEntry } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'

/** A page of the acts of admins, newest first. Contract: 5. */
export async function listAudit(em: EntityManager, query: z.infer<typeof pageQuery>): Promise<Page<AuditEntry>> {
  return await findPage(em, AuditEntry, query)
}
