import type { EntityManager } from '@mikro-orm/postgresql'
import { InstanceSettings } from './entities/index.ts'

/** The single row of settings, as it is now. */
export async function loadInstanceSettings(em: EntityManager): Promise<InstanceSettings> {
  return await em.findOneOrFail(InstanceSettings, { id: 1 })
}
