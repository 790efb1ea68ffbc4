import { EntitySchema, type EntityClass } from '@mikro-orm/core'
import * as exported from './entities/index.ts'

export * from './assert-caller-current.ts'
export * from './entities/index.ts'
export * from './instance.ts'
export * from './invites.ts'
export * from './user-views.ts'

/** The schema of every entity. */
export const entities = Object.values<unknown>(exported).flatMap((one) =>
  one instanceof EntitySchema ? one : (EntitySchema.REGISTRY.get(one as EntityClass) ?? []),
)
