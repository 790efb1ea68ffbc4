import { EntitySchema, type EntityClass } from '@mikro-orm/core'
import * as exported from './index.ts'

/** The schema of every entity of this folder. */
export const entities = Object.values<unknown>(exported).flatMap((one) =>
  one instanceof EntitySchema ? one : (EntitySchema.REGISTRY.get(one as EntityClass) ?? []),
)
