import type { EntityManager } from '@mikro-orm/postgresql'
import { InstanceSettings } from './entities/index.ts'

/** Spec: Instance settings. */
export async function loadInstanceSettings(em: EntityManager): Promise<InstanceSettings> {
  return await em.findOneOrFail(InstanceSettings, { id: 1 })
}

/** Unique across replicas: the database makes it. Contract: 1; docs/decisions/ids.md. */
export async function nextId(em: EntityManager): Promise<string> {
  const [row] = await em.execute<{ id: string }[]>('select next_snowflake()::text as id')
  if (!row) throw new Error('next_snowflake() gave no row')
  return row.id
}
